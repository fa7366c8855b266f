// Bringing the pages of a mapped file in before they are touched.
#pragma once

#include <cstddef>
#include <span>

namespace gumbel {

/// Maps the pages of a range at once, so that what reads them later does not stop at each for the
/// system to find it. False: they could not all be read, as when the file was cut after it was
/// mapped; touching them would end the process. Where the system lacks the call, does nothing and
/// gives true.
bool populate(std::span<const std::byte> mapped);

}  // namespace gumbel
