// Arrays in, GIL released, arrays out. Arguments have been checked by the Python side.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "batch.hpp"
#include "cells.hpp"
#include "energy.hpp"
#include "gradient.hpp"
#include "maxflow.hpp"
#include "planes.hpp"
#include "products.hpp"
#include "regions.hpp"
#include "search.hpp"
#include "watch.hpp"

namespace nb = nanobind;
namespace mu = multiutility;

namespace {

template <class T>
using Array = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

template <class T>
using Map = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::object owned_array(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// The arrays of one problem, in the order of _arrays() in inference/expansion.py; they outlive the view.
struct Input {
  explicit Input(nb::tuple t)
      : unary(nb::cast<Array<double>>(t[0])),
        edges(nb::cast<Array<std::int32_t>>(t[1])),
        weights(nb::cast<Array<double>>(t[2])),
        subset_starts(nb::cast<Array<std::int64_t>>(t[3])),
        subset_nodes(nb::cast<Array<std::int32_t>>(t[4])),
        subset_labels(nb::cast<Array<std::int32_t>>(t[5])),
        subset_costs(nb::cast<Array<double>>(t[6])) {
    view.n_nodes = static_cast<int>(unary.shape(0));
    view.n_labels = static_cast<int>(unary.shape(1));
    view.n_edges = static_cast<int>(weights.shape(0));
    view.n_subsets = static_cast<int>(subset_costs.shape(0));
    view.unary = unary.data();
    view.edges = edges.data();
    view.weights = weights.data();
    view.subset_starts = subset_starts.data();
    view.subset_nodes = subset_nodes.data();
    view.subset_labels = subset_labels.data();
    view.subset_costs = subset_costs.data();
    view.offset = nb::cast<double>(t[7]);
    if (!t[8].is_none()) {
      allowed = nb::cast<Array<bool>>(t[8]);
      view.allowed = allowed.data();
    }
    if (!t[9].is_none()) start = nb::cast<Array<std::int32_t>>(t[9]);
  }

  Array<double> unary;
  Array<std::int32_t> edges;
  Array<double> weights;
  Array<std::int64_t> subset_starts;
  Array<std::int32_t> subset_nodes, subset_labels;
  Array<double> subset_costs;
  Array<bool> allowed;
  Array<std::int32_t> start;
  mu::EnergyView view;
};

// Ctrl-C while the GIL is released. Python's handlers run in the thread that called, and only there; other threads see
// what they found. The exception that a handler raised is left in place, for raise_pending().
class Signals {
 public:
  bool pending() {
    if (std::this_thread::get_id() == caller_ && !pending_) {
      nb::gil_scoped_acquire hold;
      pending_ = PyErr_CheckSignals() != 0;
    }
    return pending_;
  }

  static void raise_pending() {
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
  }

 private:
  std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<bool> pending_{false};
};

// Without the GIL; an interrupt becomes the exception of Python's handler.
template <class Work>
void run_interruptibly(Signals& signals, Work&& work) {
  try {
    nb::gil_scoped_release release;
    work();
  } catch (const mu::Interrupted&) {
  }
  signals.raise_pending();
}

nb::list minimize_many(nb::list problems, int passes, double effort, bool bound, int n_threads, double seconds) {
  std::vector<Input> inputs;
  inputs.reserve(problems.size());
  for (nb::handle problem : problems) inputs.emplace_back(nb::cast<nb::tuple>(problem));
  std::vector<mu::Outcome> outcomes(inputs.size());
  Signals signals;
  run_interruptibly(signals, [&] {
    const auto job = [&](mu::Search& search, std::size_t i) {
      search.on_interrupt([&signals] { return signals.pending(); });
      outcomes[i] = search.minimize(inputs[i].view, inputs[i].start.data(), passes, effort, bound, seconds);
    };
    mu::for_each_parallel<mu::Search>(inputs.size(), n_threads, job, [&signals] { signals.pending(); });
  });
  nb::list results;
  for (mu::Outcome& outcome : outcomes)
    results.append(nb::make_tuple(owned_array(std::move(outcome.labels)), outcome.energy, outcome.bound, outcome.moves,
                                  outcome.flows, outcome.timed_out));
  return results;
}

nb::tuple expansion_moves(nb::tuple problem, std::vector<int> order) {
  const Input input(problem);
  std::vector<double> trace;
  mu::Search search;
  mu::Outcome outcome = search.moves(input.view, input.start.data(), order, trace);
  return nb::make_tuple(owned_array(std::move(outcome.labels)), owned_array(std::move(trace)));
}

nb::tuple min_cut(Array<double> terminals, Array<std::int32_t> edges, Array<double> capacities) {
  const int n_nodes = static_cast<int>(terminals.shape(0)), n_edges = static_cast<int>(edges.shape(0));
  std::vector<std::uint8_t> on_source_side(terminals.shape(0));
  double value = 0.0;
  Signals signals;
  run_interruptibly(signals, [&] {
    mu::Watch watch;
    watch.on_interrupt([&signals] { return signals.pending(); });
    mu::MinCut cut;
    cut.set_watch(&watch);
    cut.reset(n_nodes);
    for (int i = 0; i < n_nodes; ++i) cut.add_terminal(i, terminals.data()[2 * i], terminals.data()[2 * i + 1]);
    for (int k = 0; k < n_edges; ++k)
      cut.add_edge(edges.data()[2 * k], edges.data()[2 * k + 1], capacities.data()[2 * k],
                   capacities.data()[2 * k + 1]);
    value = cut.solve();
    for (int i = 0; i < n_nodes; ++i) on_source_side[static_cast<std::size_t>(i)] = cut.on_source_side(i);
  });
  return nb::make_tuple(value, owned_array(std::move(on_source_side)));
}

template <class T>
mu::MapSize size_of(const Map<T>& map) {
  return {static_cast<std::int32_t>(map.shape(0)), static_cast<std::int32_t>(map.shape(1))};
}

// Maps come as [H, W], and go back flat.
nb::object drained(Map<float> surface) {
  std::vector<mu::Label> found;
  {
    nb::gil_scoped_release release;
    found = mu::drained(surface.data(), size_of(surface));
  }
  return owned_array(std::move(found));
}

nb::object connected(Map<mu::Label> regions, std::int64_t min_size) {
  std::vector<mu::Label> found;
  {
    nb::gil_scoped_release release;
    found = mu::connected(regions.data(), size_of(regions), min_size);
  }
  return owned_array(std::move(found));
}

nb::object merge_regions(Map<mu::Label> regions, Map<float> boundary, std::int64_t n_regions, double size_power) {
  std::vector<mu::Label> found;
  {
    nb::gil_scoped_release release;
    found = mu::merge_regions(regions.data(), boundary.data(), size_of(regions), n_regions, size_power);
  }
  return owned_array(std::move(found));
}

// Edges and pairs of pixels as flat arrays, two numbers for each.
nb::tuple borders(Map<mu::Label> regions, mu::Label n_regions) {
  std::vector<mu::Label> edges, pixels, owner;
  {
    nb::gil_scoped_release release;
    mu::Crossings found(regions.data(), size_of(regions), n_regions);
    for (const mu::Pair& pair : found.pairs.edges) edges.insert(edges.end(), pair.begin(), pair.end());
    for (const mu::Pair& pair : found.pixels) pixels.insert(pixels.end(), pair.begin(), pair.end());
    owner = std::move(found.pairs.owner);
  }
  return nb::make_tuple(owned_array(std::move(edges)), owned_array(std::move(owner)), owned_array(std::move(pixels)));
}

nb::tuple cell_weights(Map<mu::Label> regions, mu::Label n_regions, Array<std::int32_t> down, Array<float> down_weights,
                       Array<std::int32_t> across, Array<float> across_weights, std::int32_t n_rows,
                       std::int32_t n_columns) {
  mu::SparseRows found;
  {
    nb::gil_scoped_release release;
    found = mu::cell_weights(regions.data(), size_of(regions), n_regions, {down.data(), down_weights.data(), n_rows},
                             {across.data(), across_weights.data(), n_columns});
  }
  return nb::make_tuple(owned_array(std::move(found.values)), owned_array(std::move(found.columns)),
                        owned_array(std::move(found.starts)));
}

// Changes come as [H * W, D].
nb::object largest_change(Map<float> across, Map<float> down, float factor) {
  std::vector<float> found;
  {
    nb::gil_scoped_release release;
    found = mu::largest_change(across.data(), down.data(), across.shape(0), across.shape(1), factor);
  }
  return owned_array(std::move(found));
}

template <class T>
using Output = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

// The arrays of a block's slots, in the order of Slots in learning/optimizers/planes.py.
struct SlotsInput {
  explicit SlotsInput(nb::tuple t)
      : rest(nb::cast<Array<double>>(t[0])),
        labels(nb::cast<Array<std::int32_t>>(t[1])),
        anchor(nb::cast<Array<std::int32_t>>(t[2])),
        used(nb::cast<Array<bool>>(t[3])) {
    view.n_slots = labels.shape(0);
    view.n_nodes = rest.shape(0);
    view.n_labels = rest.shape(1);
    view.rest = rest.data();
    view.labels = labels.data();
    view.anchor = anchor.data();
    view.used = used.data();
    view.cost = nb::cast<double>(t[4]);
  }

  Array<double> rest;
  Array<std::int32_t> labels, anchor;
  Array<bool> used;
  mu::SlotsView view;
};

template <class T>
nb::object label_sums(Array<T> matrix, Array<std::int32_t> labels) {
  std::vector<double> sums(labels.shape(0));
  const std::size_t n_nodes = matrix.shape(0), n_labels = matrix.shape(1);
  for (std::size_t m = 0; m < sums.size(); ++m)
    sums[m] = mu::label_sum(matrix.data(), n_labels, labels.data() + m * n_nodes, 0, n_nodes);
  return owned_array(std::move(sums));
}

template <class T>
nb::object slot_products(nb::tuple slots, Array<T> matrix) {
  const SlotsInput input(slots);
  std::vector<double> products(input.view.n_slots, 0.0);
  mu::slot_products(input.view, matrix.data(), products.data());
  return owned_array(std::move(products));
}

template <class T>
void combine_slots(nb::tuple slots, Array<double> coefficients, double total, Output<T> matrix) {
  mu::combine_slots(SlotsInput(slots).view, coefficients.data(), total, matrix.data());
}

template <class T>
void swap_labels(Array<T> symmetric, Array<std::int32_t> first, Array<std::int32_t> second, Output<T> found) {
  mu::swap_labels(symmetric.data(), found.shape(0), found.shape(1), first.data(), second.data(), found.data());
}

std::size_t slot_of(nb::tuple slots, Array<std::int32_t> labels) {
  return mu::slot_of(SlotsInput(slots).view, labels.data());
}

void exchange(Output<double> mixed, Output<double> gradients, Array<double> gram, Array<bool> used, int n_steps) {
  mu::exchange(mixed.shape(0), mixed.shape(1), mixed.data(), gradients.data(), gram.data(), used.data(), n_steps);
}

std::vector<double> copied(Array<double> values) { return {values.data(), values.data() + values.size()}; }

nb::object ascend_parabola(Array<double> slopes, Array<double> gram, int n_rounds) {
  return owned_array(mu::ascend_parabola(copied(slopes), gram.data(), n_rounds));
}

#ifdef MULTIUTILITY_HAS_PRODUCTS
// The number of labels is that of the scores; weights have some zeros more.
void node_scores(Map<float> features, Map<float> weights, Output<float> scores) {
  const mu::ScoresView view{features.shape(0), features.shape(1), scores.shape(1),
                            features.data(),   weights.data(),    scores.data()};
  nb::gil_scoped_release release;
  mu::node_scores(view);
}

void lift(Map<float> counts, Map<float> features, Output<float> sums) {
  const mu::LiftView view{features.shape(0), features.shape(1), counts.shape(1),
                          counts.data(),     features.data(),   sums.data()};
  nb::gil_scoped_release release;
  mu::lift(view);
}

bool can_multiply() { return mu::can_multiply(); }
#else
void node_scores(Map<float>, Map<float>, Output<float>) { throw nb::value_error("this processor has no products"); }

void lift(Map<float>, Map<float>, Output<float>) { throw nb::value_error("this processor has no products"); }

bool can_multiply() { return false; }
#endif

template <class T>
void define_planes(nb::module_& m) {
  m.def("label_sums", &label_sums<T>, nb::arg("matrix"), nb::arg("labels"));
  m.def("slot_products", &slot_products<T>, nb::arg("slots"), nb::arg("matrix"));
  m.def("combine_slots", &combine_slots<T>, nb::arg("slots"), nb::arg("coefficients"), nb::arg("total"),
        nb::arg("matrix").noconvert());
  m.def("swap_labels", &swap_labels<T>, nb::arg("symmetric").noconvert(), nb::arg("first"), nb::arg("second"),
        nb::arg("found").noconvert());
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "Native code of multiutility; use it through inference, vision.regions and learning.";
  m.def("minimize_many", &minimize_many, nb::arg("problems"), nb::arg("passes"), nb::arg("effort"), nb::arg("bound"),
        nb::arg("n_threads"), nb::arg("seconds"));
  m.def("expansion_moves", &expansion_moves, nb::arg("problem"), nb::arg("order"));
  m.def("min_cut", &min_cut, nb::arg("terminals"), nb::arg("edges"), nb::arg("capacities"));
  m.def("drained", &drained, nb::arg("surface"));
  m.def("connected", &connected, nb::arg("regions"), nb::arg("min_size"));
  m.def("merge_regions", &merge_regions, nb::arg("regions"), nb::arg("boundary"), nb::arg("n_regions"),
        nb::arg("size_power"));
  m.def("borders", &borders, nb::arg("regions"), nb::arg("n_regions"));
  m.def("cell_weights", &cell_weights, nb::arg("regions"), nb::arg("n_regions"), nb::arg("down"),
        nb::arg("down_weights"), nb::arg("across"), nb::arg("across_weights"), nb::arg("n_rows"), nb::arg("n_columns"));
  m.def("largest_change", &largest_change, nb::arg("across"), nb::arg("down"), nb::arg("factor"));
  m.def("can_multiply", &can_multiply);
  m.def("node_scores", &node_scores, nb::arg("features"), nb::arg("weights"), nb::arg("scores").noconvert());
  m.def("lift", &lift, nb::arg("counts"), nb::arg("features"), nb::arg("sums").noconvert());
  define_planes<float>(m);
  define_planes<double>(m);
  m.def("slot_of", &slot_of, nb::arg("slots"), nb::arg("labels"));
  m.def("exchange", &exchange, nb::arg("mixed").noconvert(), nb::arg("gradients").noconvert(), nb::arg("gram"),
        nb::arg("used"), nb::arg("n_steps"));
  m.def("ascend_parabola", &ascend_parabola, nb::arg("slopes"), nb::arg("gram"), nb::arg("n_rounds"));
}
