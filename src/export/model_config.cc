#include "export/model_config.h"

#include <cmath>

namespace gumbel {

double yarn_attention_factor(double factor, double scale) {
  return factor > 1.0 ? 1.0 + 0.1 * scale * std::log(factor) : 1.0;
}

}  // namespace gumbel
