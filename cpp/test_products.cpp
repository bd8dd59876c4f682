// Tests of products.hpp against sums in double precision, of sizes around those of registers and blocks.
#include "products.hpp"

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "testing.hpp"

#ifdef MULTIUTILITY_HAS_PRODUCTS

namespace {

using multiutility::padded;
using Matrix = std::vector<float>;

std::mt19937 generator(0);

Matrix random_matrix(std::size_t size) {
  Matrix values(size);
  for (float& value : values) value = std::normal_distribution<float>()(generator);
  return values;
}

// A sum in double precision, and how far one in single precision may be from it.
struct Sum {
  double value = 0.0, magnitude = 0.0;

  void add(float one, float other) {
    value += static_cast<double>(one) * static_cast<double>(other);
    magnitude += std::abs(static_cast<double>(one) * static_cast<double>(other));
  }

  bool is(float found) const { return std::abs(static_cast<double>(found) - value) <= 1e-5 * magnitude + 1e-30; }
};

void test_scores(std::size_t n_nodes, std::size_t n_features, std::size_t n_labels) {
  const Matrix features = random_matrix(n_nodes * n_features), rows = random_matrix(n_labels * n_features);
  Matrix weights(n_features * padded(n_labels), 0.0f), scores(n_nodes * n_labels, NAN);
  for (std::size_t k = 0; k < n_labels; ++k)
    for (std::size_t d = 0; d < n_features; ++d) weights[d * padded(n_labels) + k] = rows[k * n_features + d];
  multiutility::node_scores({n_nodes, n_features, n_labels, features.data(), weights.data(), scores.data()});
  bool right = true;
  for (std::size_t i = 0; i < n_nodes; ++i)
    for (std::size_t k = 0; k < n_labels; ++k) {
      Sum sum;
      for (std::size_t d = 0; d < n_features; ++d) sum.add(features[i * n_features + d], rows[k * n_features + d]);
      right = right && sum.is(scores[i * n_labels + k]);
    }
  CHECK(right);
}

void test_lift(std::size_t n_nodes, std::size_t n_features, std::size_t n_labels) {
  const Matrix features = random_matrix(n_nodes * n_features), counts = random_matrix(n_nodes * n_labels);
  Matrix sums(n_labels * n_features, NAN);
  multiutility::lift({n_nodes, n_features, n_labels, counts.data(), features.data(), sums.data()});
  bool right = true;
  for (std::size_t k = 0; k < n_labels; ++k)
    for (std::size_t d = 0; d < n_features; ++d) {
      Sum sum;
      for (std::size_t i = 0; i < n_nodes; ++i) sum.add(counts[i * n_labels + k], features[i * n_features + d]);
      right = right && sum.is(sums[k * n_features + d]);
    }
  CHECK(right);
}

void test_blocks() {
  for (const std::size_t size : {1, 448, 449, 895, 896, 897, 1404, 10000}) {
    std::size_t done = 0;
    while (done < size) {
      const std::size_t block = multiutility::block_size(size - done);
      CHECK(block >= 1 && block <= 448);
      done += block;
    }
    CHECK(done == size);
  }
}

}  // namespace

int main() {
  test_blocks();
  if (!multiutility::can_multiply()) return multiutility::testing::report();
  for (const std::size_t n_nodes : {1, 3, 4, 5, 16, 17})
    for (const std::size_t n_features : {1, 15, 16, 33, 448, 450, 900})
      for (const std::size_t n_labels : {1, 2, 5, 6, 8, 9, 21, 24, 25, 49}) {
        test_scores(n_nodes, n_features, n_labels);
        test_lift(n_features, n_nodes, n_labels);
        test_lift(n_nodes, n_features, n_labels);
      }
  return multiutility::testing::report();
}

#else

int main() { return 0; }

#endif
