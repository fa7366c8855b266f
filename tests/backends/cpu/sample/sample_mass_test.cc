// The error bound of approximate masses, on every instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "backends/cpu/highway.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/sample/sample_mass_test.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/dispatch.h"
#include "backends/cpu/sample/sample_mass-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu {
namespace HWY_NAMESPACE {

/// approximate_mass of each logit, count a multiple of 16.
void approximate_masses(const float* logits, size_t count, float best, float scale, float* masses) {
  const FloatTag d;
  for (size_t i = 0; i < count; i += hn::Lanes(d))
    hn::StoreU(approximate_mass(hn::LoadU(d, logits + i), hn::Set(d, best), hn::Set(d, scale)), d,
               masses + i);
}

/// The approximate and the exact mass above a key.
void masses_above(std::span<const float> logits, int32_t key, float scale, SampleScratch& scratch,
                  double& approximate, uint64_t& exact) {
  const Row row = scan(logits, scratch);
  const SurprisalScale s{row.best_key, scale};
  approximate = approximate_mass_above(row, s, kBannedKey, key, nullptr).inner;
  exact = exact_mass_above(row, s, key);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gumbel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gumbel::cpu {
namespace {

class SampleMassTest : public testing::TestWithParam<CpuTarget> {};
INSTANTIATE_TEST_SUITE_P(Targets, SampleMassTest, testing::ValuesIn(supported_targets()),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(SampleMassTest, ATokensMassIsWithinItsShareOfTheError) {
  static constexpr auto kMasses = GUMBEL_TARGET_TABLE(approximate_masses);
  // Every surprisal up to 2, finely, and others up to beyond the cap.
  std::vector<float> logits(1 << 20), masses(logits.size());
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = -(i % 2 ? 0x1p-18f : 0x1p-12f) * static_cast<float>(i / 2);
  const float scale = surprisal_scale(1);
  kMasses[GetParam()](logits.data(), logits.size(), 0, scale * 0x1p-24f, masses.data());
  const double share = kMassError - 256 * 0x1p-24;
  double worst = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const int32_t z = surprisal_q24(0, rank_key(logits[i]), scale);
    const double exact = static_cast<double>(mass_q40(z)) * 0x1p-40;
    const double mass = static_cast<double>(masses[i]);
    ASSERT_LE(std::abs(mass - exact), share * mass + 0x1p-40) << logits[i];
    if (z < 8 * kOneQ24) worst = std::max(worst, std::abs(mass - exact) / mass);
  }
  EXPECT_GT(worst, share / 2) << "the bound is looser than it need be";
}

TEST_P(SampleMassTest, SumsAreWithinTheError) {
  static constexpr auto kMasses = GUMBEL_TARGET_TABLE(masses_above);
  constexpr size_t kVocab = 70000;
  std::vector<std::byte> memory(SampleScratch::bytes(kVocab));
  SampleScratch scratch(memory, kVocab);
  std::vector<float> logits(kVocab);
  for (float spread : {0.01f, 1.0f, 10.0f, 60.0f}) {
    for (size_t i = 0; i < kVocab; ++i)
      logits[i] = -spread * static_cast<float>(i * 7919 % kVocab) / kVocab;
    const float scale = surprisal_scale(0.9f);
    for (float cut : {-0.001f, -0.25f, -0.5f, -0.75f, -2.0f}) {
      const int32_t key = rank_key(cut * spread);
      uint64_t expected = 0;
      for (float x : logits)
        if (rank_key(x) > key) expected += mass_q40(surprisal_q24(0, rank_key(x), scale));
      double approximate = 0;
      uint64_t exact = 0;
      kMasses[GetParam()](logits, key, scale, scratch, approximate, exact);
      EXPECT_EQ(exact, expected);
      EXPECT_NEAR(approximate, static_cast<double>(exact) * 0x1p-40,
                  kMassError * approximate + kVocab * 0x1p-40);
    }
  }
}

}  // namespace
}  // namespace gumbel::cpu
#endif  // HWY_ONCE
