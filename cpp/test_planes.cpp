// Tests of planes.hpp against matrices that are written out, grids of steps, and conditions of optimality.
#include "planes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "testing.hpp"

namespace {

using multiutility::SlotsView;
using Matrix = std::vector<double>;

std::mt19937 generator(0);

double normal() { return std::normal_distribution<double>()(generator); }
std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(generator); }
bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * (1.0 + std::abs(a)); }

Matrix random_vector(std::size_t size) {
  Matrix values(size);
  for (double& value : values) value = normal();
  return values;
}

struct Slots {
  std::size_t n_slots, n_nodes, n_labels;
  Matrix rest;
  std::vector<std::int32_t> labels, anchor;
  std::unique_ptr<bool[]> used;
  double cost = 0.7;

  Slots(std::size_t p, std::size_t v, std::size_t k)
      : n_slots(p), n_nodes(v), n_labels(k), rest(random_vector(v * k)), used(new bool[p]) {
    for (std::size_t i = 0; i < v; ++i) anchor.push_back(static_cast<std::int32_t>(below(k)));
    for (std::size_t i = 0; i < p * v; ++i) labels.push_back(static_cast<std::int32_t>(below(k)));
    for (std::size_t i = 0; i < p; ++i) used[i] = i == 0 || below(4) > 0;
  }

  SlotsView view() const {
    return {n_slots, n_nodes, n_labels, rest.data(), labels.data(), anchor.data(), used.get(), cost};
  }

  // The matrix of a slot, written out.
  Matrix matrix(std::size_t p) const {
    if (p == 0) return rest;
    Matrix found(n_nodes * n_labels, 0.0);
    for (std::size_t i = 0; i < n_nodes && used[p]; ++i) {
      found[i * n_labels + static_cast<std::size_t>(anchor[i])] += cost;
      found[i * n_labels + static_cast<std::size_t>(labels[p * n_nodes + i])] -= cost;
    }
    return found;
  }
};

template <class T>
void test_slots(std::size_t p, std::size_t v, std::size_t k) {
  const Slots slots(p, v, k);
  const Matrix wide = random_vector(v * k);
  const std::vector<T> other(wide.begin(), wide.end());
  Matrix products(p, 0.0), coefficients = random_vector(p);
  multiutility::slot_products(slots.view(), other.data(), products.data());
  CHECK(products[0] == 0.0);
  double total = 0.0;
  Matrix sum(v * k, 0.0);
  for (std::size_t s = 0; s < p; ++s) {
    if (!slots.used[s] || below(3) == 0) coefficients[s] = 0.0;
    const Matrix matrix = slots.matrix(s);
    double product = 0.0;
    for (std::size_t i = 0; i < v * k; ++i) {
      product += matrix[i] * static_cast<double>(other[i]);
      sum[i] += coefficients[s] * matrix[i];
    }
    if (s > 0) CHECK(close(products[s], product));
    if (s > 0) total += slots.cost * coefficients[s];
  }
  std::vector<T> found(v * k);
  multiutility::combine_slots(slots.view(), coefficients.data(), total, found.data());
  for (std::size_t i = 0; i < v * k; ++i) CHECK(std::abs(sum[i] - static_cast<double>(found[i])) < 1e-5);
}

void test_sums_of_any_length() {
  for (std::size_t v = 0; v < 400; ++v) {
    std::vector<std::int32_t> labels(v);
    const Matrix matrix = random_vector(3 * v);
    double sum = 0.0;
    for (std::size_t i = 0; i < v; ++i) {
      labels[i] = static_cast<std::int32_t>(below(3));
      sum += matrix[3 * i + static_cast<std::size_t>(labels[i])];
    }
    CHECK(close(multiutility::label_sum(matrix.data(), 3, labels.data(), 0, v), sum));
  }
}

void test_slot_of_a_labeling() {
  Slots slots(6, 5, 3);
  for (std::size_t p = 1; p < 6; ++p) {
    std::copy_n(slots.labels.begin(), 5, slots.labels.begin() + static_cast<std::ptrdiff_t>(5 * p));
    slots.labels[5 * p] = static_cast<std::int32_t>(p % 3);
    slots.labels[5 * p + 1] = static_cast<std::int32_t>(p / 3);
    slots.used[p] = p != 4;
  }
  for (std::size_t p = 1; p < 6; ++p)
    CHECK(multiutility::slot_of(slots.view(), &slots.labels[5 * p]) == (p == 4 ? 0 : p));
  // The first slot has no labeling, whatever is written there.
  slots.labels[0] = slots.labels[1] = 2;
  CHECK(multiutility::slot_of(slots.view(), slots.labels.data()) == 0);
}

// Products [n, n] of random vectors, so that they are curvatures.
Matrix random_gram(std::size_t n, std::size_t n_dimensions) {
  const Matrix vectors = random_vector(n * n_dimensions);
  Matrix gram(n * n, 0.0);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      for (std::size_t d = 0; d < n_dimensions; ++d)
        gram[a * n + b] += vectors[a * n_dimensions + d] * vectors[b * n_dimensions + d];
  return gram;
}

// At a maximum on the simplex, no slope is above those of the coefficients that are positive.
void test_exchange_ends_at_the_maximum() {
  const std::size_t n = 5;
  const Matrix gram = random_gram(n, 4), linear = random_vector(n);
  Matrix mixed = {0.5, 0.5, 0.0, 0.0, 0.0}, gradients = linear;
  const bool used[n] = {true, true, false, true, true};
  for (std::size_t p = 0; p < n; ++p) gradients[p] -= (gram[p * n] + gram[p * n + 1]) / 2;
  multiutility::exchange(1, n, mixed.data(), gradients.data(), gram.data(), used, 5000);
  double sum = 0.0, highest = -1e9, mean = 0.0;
  for (std::size_t p = 0; p < n; ++p) {
    double slope = linear[p];
    for (std::size_t q = 0; q < n; ++q) slope -= gram[p * n + q] * mixed[q];
    sum += mixed[p];
    mean += mixed[p] * slope;
    if (used[p]) highest = std::max(highest, slope);
    CHECK(mixed[p] >= 0.0);
  }
  CHECK(mixed[2] == 0.0);
  CHECK(close(sum, 1.0));
  CHECK(highest - mean < 0.01);
}

// A problem is not changed by those beside it.
void test_exchange_of_many_problems() {
  const std::size_t n = 4, count = 3;
  Matrix mixed, gradients = random_vector(n * count), gram;
  const bool used[n * count] = {true, true, true, true, true, true, false, true, true, true, true, false};
  for (std::size_t b = 0; b < count; ++b) {
    const Matrix one = random_gram(n, 3);
    gram.insert(gram.end(), one.begin(), one.end());
    mixed.insert(mixed.end(), {0.25, 0.75, 0.0, 0.0});
  }
  Matrix alone = mixed, slopes = gradients;
  multiutility::exchange(count, n, mixed.data(), gradients.data(), gram.data(), used, 6);
  for (std::size_t b = 0; b < count; ++b)
    multiutility::exchange(1, n, &alone[b * n], &slopes[b * n], &gram[b * n * n], used + b * n, 6);
  CHECK(mixed == alone);
}

struct Parabola {
  std::size_t n_steps;
  Matrix slopes, gram;

  explicit Parabola(std::size_t n) : n_steps(n), slopes(random_vector(n)), gram(random_gram(n, 6)) {
    for (double& slope : slopes) slope *= 4;
  }

  Matrix steps(int n_rounds) const { return multiutility::ascend_parabola(slopes, gram.data(), n_rounds); }

  double value(const Matrix& steps) const {
    double found = 0.0;
    for (std::size_t b = 0; b < n_steps; ++b) {
      found += slopes[b] * steps[b];
      for (std::size_t c = 0; c < n_steps; ++c) found -= steps[b] * gram[b * n_steps + c] * steps[c] / 2;
    }
    return found;
  }

  // Whether no step alone can be better, on a grid.
  bool is_best(const Matrix& steps) const {
    for (std::size_t b = 0; b < n_steps; ++b)
      for (int t = 0; t <= 100; ++t) {
        Matrix tried = steps;
        tried[b] = t / 100.0;
        if (value(tried) > value(steps) + 1e-9) return false;
      }
    return std::all_of(steps.begin(), steps.end(), [](double t) { return 0.0 <= t && t <= 1.0; });
  }
};

void test_ascent(std::size_t n) {
  const Parabola parabola(n);
  CHECK(parabola.is_best(parabola.steps(300)));
  CHECK(parabola.value(Matrix(n, 0.0)) <= parabola.value(parabola.steps(1)) + 1e-12);
  CHECK(parabola.value(parabola.steps(1)) <= parabola.value(parabola.steps(3)) + 1e-12);
}

// Against the product with the matrix of the labelings, written out; nodes in one block of sums, and in several.
void test_swapped_labels(std::size_t v, std::size_t k) {
  Matrix symmetric(v * v), found(v * k);
  for (std::size_t i = 0; i < v; ++i)
    for (std::size_t j = 0; j <= i; ++j) symmetric[i * v + j] = symmetric[j * v + i] = normal();
  std::vector<std::int32_t> first(v), second(v);
  for (std::size_t i = 0; i < v; ++i) {
    first[i] = static_cast<std::int32_t>(below(k));
    second[i] = below(2) > 0 ? first[i] : static_cast<std::int32_t>(below(k));
  }
  multiutility::swap_labels(symmetric.data(), v, k, first.data(), second.data(), found.data());
  bool right = true;
  for (std::size_t i = 0; i < v; ++i) {
    Matrix row(k, 0.0);
    for (std::size_t j = 0; j < v; ++j) {
      row[static_cast<std::size_t>(first[j])] += symmetric[i * v + j];
      row[static_cast<std::size_t>(second[j])] -= symmetric[i * v + j];
    }
    for (std::size_t l = 0; l < k; ++l) right = right && close(row[l], found[i * k + l]);
  }
  CHECK(right);
}

void test_steps_without_curvature() {
  const Matrix zero(4, 0.0), both = {1.0, -1.0}, all_or_nothing = {1.0, 0.0};
  CHECK(multiutility::ascend_parabola(both, zero.data(), 1) == all_or_nothing);
}

}  // namespace

int main() {
  for (const std::size_t v : {1, 7, 8, 30, 300}) {
    test_slots<double>(6, v, 4);
    test_slots<float>(6, v, 4);
  }
  test_slots<double>(1, 5, 1);
  test_sums_of_any_length();
  test_slot_of_a_labeling();
  for (int n = 0; n < 20; ++n) test_exchange_ends_at_the_maximum();
  test_exchange_of_many_problems();
  for (int n = 0; n < 5; ++n)
    for (std::size_t b = 1; b < 6; ++b) test_ascent(b);
  test_steps_without_curvature();
  for (const std::size_t v : {1, 5, 447, 448, 449, 1000}) test_swapped_labels(v, 3);
  return multiutility::testing::report();
}
