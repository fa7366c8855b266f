// The int8 dot products of every instruction set: the one place of raw intrinsics.
//
// Without an include guard: linear.cc includes it once per namespace GUMBEL_DOT, which for AVX-512
// are `plain` and, with GUMBEL_VNNI, `vnni`.

#if GUMBEL_VNNI
HWY_BEFORE_NAMESPACE();
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
#else
HWY_BEFORE_NAMESPACE();
#endif
namespace gumbel::cpu::HWY_NAMESPACE::GUMBEL_DOT {

#if HWY_TARGET != HWY_SCALAR
using U8 = hn::Repartition<uint8_t, F32>;
using VU8 = hn::Vec<U8>;

/// The 4 activation codes at `from` in every 32-bit lane.
HWY_INLINE VI32 broadcast4(const std::byte* from) {
  int32_t codes;
  std::memcpy(&codes, from, 4);
  return hn::Set(I32(), codes);
}
#endif

#if HWY_TARGET == HWY_SCALAR

#elif GUMBEL_VNNI

/// Whether codes of types that take all 8 bits are decoded as the signed values themselves; if not,
/// as value + 128 (a byte without sign).
constexpr bool kSignedBytes = false;

/// start + the dot product of steps [kBegin, kEnd) of a group: codes times the activation codes at
/// `activations`. |code| <= kMaxCode.
template <int kBegin, int kEnd, int kMaxCode>
HWY_INLINE VI32 dot(const VU8 (&codes)[kGroupSteps], const std::byte* activations, VI32 start) {
  __m512i sum = start.raw;
  GUMBEL_UNROLL
  for (int j = kBegin; j < kEnd; ++j)
    sum = _mm512_dpbusd_epi32(sum, codes[j].raw, broadcast4(activations + 4 * j).raw);
  return VI32{sum};
}

#elif HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

constexpr bool kSignedBytes = true;

#if HWY_TARGET == HWY_AVX3
using Register = __m512i;
HWY_INLINE Register multiply_pairs(Register a, Register b) { return _mm512_maddubs_epi16(a, b); }
HWY_INLINE Register add16(Register a, Register b) { return _mm512_add_epi16(a, b); }
HWY_INLINE Register add_pairs(Register a, Register total) {
  return _mm512_add_epi32(total, _mm512_madd_epi16(a, _mm512_set1_epi16(1)));
}
HWY_INLINE Register absolute(Register a) { return _mm512_abs_epi8(a); }
HWY_INLINE Register with_sign_of(Register value, Register sign) {
  return _mm512_mask_sub_epi8(value, _mm512_movepi8_mask(sign), _mm512_setzero_si512(), value);
}
#else
using Register = __m256i;
HWY_INLINE Register multiply_pairs(Register a, Register b) { return _mm256_maddubs_epi16(a, b); }
HWY_INLINE Register add16(Register a, Register b) { return _mm256_add_epi16(a, b); }
HWY_INLINE Register add_pairs(Register a, Register total) {
  return _mm256_add_epi32(total, _mm256_madd_epi16(a, _mm256_set1_epi16(1)));
}
HWY_INLINE Register absolute(Register a) { return _mm256_abs_epi8(a); }
HWY_INLINE Register with_sign_of(Register value, Register sign) {
  return _mm256_sign_epi8(value, sign);
}
#endif

template <int kBegin, int kEnd, int kMaxCode>
HWY_INLINE VI32 dot(const VU8 (&codes)[kGroupSteps], const std::byte* activations, VI32 start) {
  // A pair of products is at most 2 * 127 * kMaxCode, and maddubs saturates at 32767: signed bytes,
  // up to 128, go as |code| * (activation with the code's sign), 2 * 127 * 128 = 32512. Small codes
  // leave room for the pairs of several steps: 8 of 4 bits, 4 of 5 bits, 2 of 6 bits.
  constexpr int kSteps = 32767 / (2 * 127 * kMaxCode);
  static_assert(kSteps >= 1);
  Register total = start.raw;
  GUMBEL_UNROLL
  for (int first = kBegin; first < kEnd; first += kSteps) {
    Register pairs{};
    GUMBEL_UNROLL
    for (int j = first; j < (first + kSteps < kEnd ? first + kSteps : kEnd); ++j) {
      const Register a = broadcast4(activations + 4 * j).raw;
      const Register w = codes[j].raw;
      const Register product =
          kMaxCode < 128 ? multiply_pairs(w, a) : multiply_pairs(absolute(w), with_sign_of(a, w));
      pairs = j == first ? product : add16(pairs, product);
    }
    total = add_pairs(pairs, total);
  }
  return VI32{total};
}

#elif HWY_TARGET == HWY_NEON

constexpr bool kSignedBytes = true;

template <int kBegin, int kEnd, int kMaxCode>
HWY_INLINE VI32 dot(const VU8 (&codes)[kGroupSteps], const std::byte* activations, VI32 start) {
#if defined(__ARM_FEATURE_DOTPROD)
  int32x4_t sum = start.raw;
  GUMBEL_UNROLL
  for (int j = kBegin; j < kEnd; ++j)
    sum = vdotq_s32(sum, vreinterpretq_s8_u8(codes[j].raw),
                    vreinterpretq_s8_s32(broadcast4(activations + 4 * j).raw));
  return VI32(sum);
#else
  // A product is at most 128 * 127 and fits 16 bits; pairs of products are added in 32. The low
  // half of the bytes are rows 0 and 1, two sums each, the high half rows 2 and 3.
  int32x4_t low = vdupq_n_s32(0);
  int32x4_t high = vdupq_n_s32(0);
  GUMBEL_UNROLL
  for (int j = kBegin; j < kEnd; ++j) {
    const int8x16_t a = vreinterpretq_s8_s32(broadcast4(activations + 4 * j).raw);
    const int8x16_t w = vreinterpretq_s8_u8(codes[j].raw);
    low = vpadalq_s16(low, vmull_s8(vget_low_s8(w), vget_low_s8(a)));
    high = vpadalq_s16(high, vmull_s8(vget_high_s8(w), vget_high_s8(a)));
  }
  return VI32(vaddq_s32(start.raw, vpaddq_s32(low, high)));
#endif
}

#endif

}  // namespace gumbel::cpu::HWY_NAMESPACE::GUMBEL_DOT
#if GUMBEL_VNNI
HWY_POP_ATTRIBUTES
#endif
HWY_AFTER_NAMESPACE();
