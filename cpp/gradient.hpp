// The largest change of all channels of a map together, in any direction; vision/regions/reference.py has it in NumPy.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace multiutility {

// The sum of products of two lists of channels, both times a factor. In four sums, as vectors of four numbers are added
// up: NumPy rounds so.
template <class Depth>
float dot(const float* one, const float* other, Depth depth, float factor) {
  std::array<float, 4> sums{};
  for (std::size_t d = 0; d < depth; ++d) sums[d % 4] += (one[d] * factor) * (other[d] * factor);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class Depth>
void find_largest_change(const float* across, const float* down, std::size_t n, Depth depth, float factor,
                         float* found) {
  for (std::size_t k = 0; k < n; ++k) {
    const float *x = across + k * depth, *y = down + k * depth;
    const float one = dot(x, x, depth, factor), two = dot(y, y, depth, factor), both = dot(x, y, depth, factor);
    const float half = (one - two) / 2;
    found[k] = std::sqrt((one + two) / 2 + std::sqrt(half * half + both * both));
  }
}

// The root of the larger eigenvalue of the tensor of changes [n, depth] across and down, times a factor.
inline std::vector<float> largest_change(const float* across, const float* down, std::size_t n, std::size_t depth,
                                         float factor) {
  std::vector<float> found(n);
  // Colors are what there is most of: a number that is known beforehand is three times as fast.
  if (depth == 3)
    find_largest_change(across, down, n, std::integral_constant<std::size_t, 3>(), factor, found.data());
  else
    find_largest_change(across, down, n, depth, factor, found.data());
  return found;
}

}  // namespace multiutility
