// Tests of maxflow.hpp against enumeration of all cuts and against an independent Edmonds-Karp.
#include "maxflow.hpp"

#include "testing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <queue>
#include <random>
#include <vector>

namespace {

using multiutility::MinCut;

struct Terminal {
  int node;
  double source, sink;
};
struct Edge {
  int i, j;
  double cap_ij, cap_ji;
};
struct Graph {
  int n = 0;
  std::vector<Terminal> terminals;
  std::vector<Edge> edges;
};

using Sides = std::vector<bool>;  // true: source side

double cost(const Graph& graph, const Sides& source) {
  double sum = 0.0;
  for (const Terminal& t : graph.terminals) sum += source[static_cast<std::size_t>(t.node)] ? t.source : t.sink;
  for (const Edge& e : graph.edges) {
    const bool i = source[static_cast<std::size_t>(e.i)], j = source[static_cast<std::size_t>(e.j)];
    if (i && !j) sum += e.cap_ij;
    if (j && !i) sum += e.cap_ji;
  }
  return sum;
}

// The size of the numbers that are added up: rounding errors are relative to this.
double magnitude(const Graph& graph) {
  double sum = 0.0;
  for (const Terminal& t : graph.terminals) sum += std::abs(t.source) + std::abs(t.sink);
  for (const Edge& e : graph.edges)
    for (const double cap : {e.cap_ij, e.cap_ji}) sum += std::isfinite(cap) ? cap : 0.0;
  return sum;
}

bool close(double a, double b, double scale) { return std::abs(a - b) <= 1e-12 * scale; }

struct Solution {
  double value;
  Sides source;
};

Solution read(MinCut& solver, int n) {
  Solution solution{solver.solve(), {}};
  for (int v = 0; v < n; ++v) solution.source.push_back(solver.on_source_side(v));
  return solution;
}

void load(MinCut& solver, const Graph& graph) {
  solver.reset(graph.n);
  for (const Terminal& t : graph.terminals) solver.add_terminal(t.node, t.source, t.sink);
  for (const Edge& e : graph.edges) solver.add_edge(e.i, e.j, e.cap_ij, e.cap_ji);
}

Solution solve(MinCut& solver, const Graph& graph) {
  load(solver, graph);
  return read(solver, graph.n);
}

// All cuts; of the minimum cuts the intersection of the source sides, which is a minimum cut too. Counts the cuts
// within a tolerance.
Solution enumerate(const Graph& graph, double tolerance = 0.0, int* n_near = nullptr) {
  const unsigned n_cuts = 1U << graph.n;
  std::vector<double> costs;
  for (unsigned bits = 0; bits < n_cuts; ++bits) {
    Sides source;
    for (int v = 0; v < graph.n; ++v) source.push_back((bits >> v & 1U) != 0);
    costs.push_back(cost(graph, source));
  }
  const double best = *std::min_element(costs.begin(), costs.end());
  unsigned common = n_cuts - 1;
  for (unsigned bits = 0; bits < n_cuts; ++bits)
    if (costs[bits] == best) common &= bits;
  if (n_near != nullptr)
    *n_near =
        static_cast<int>(std::count_if(costs.begin(), costs.end(), [&](double c) { return c <= best + tolerance; }));
  Solution solution{best, {}};
  for (int v = 0; v < graph.n; ++v) solution.source.push_back((common >> v & 1U) != 0);
  return solution;
}

// Edmonds-Karp on the graph with explicit terminals; the source side is what its last search reaches.
Solution edmonds_karp(const Graph& graph) {
  struct Link {
    std::size_t to, back;
    double cap;
  };
  const std::size_t n = static_cast<std::size_t>(graph.n), s = n, t = n + 1;
  std::vector<std::vector<Link>> links(n + 2);
  const auto connect = [&](std::size_t i, std::size_t j, double cap, double reverse) {
    links[i].push_back({j, links[j].size(), cap});
    links[j].push_back({i, links[i].size() - 1, reverse});
  };
  double value = 0.0;
  std::vector<double> difference(n, 0.0);
  for (const Terminal& terminal : graph.terminals) {
    value += terminal.source;
    difference[static_cast<std::size_t>(terminal.node)] += terminal.sink - terminal.source;
  }
  for (std::size_t v = 0; v < n; ++v) {
    if (difference[v] > 0.0) connect(s, v, difference[v], 0.0);
    if (difference[v] < 0.0) connect(v, t, -difference[v], 0.0);
    value += std::min(difference[v], 0.0);
  }
  for (const Edge& e : graph.edges)
    if (e.i != e.j) connect(static_cast<std::size_t>(e.i), static_cast<std::size_t>(e.j), e.cap_ij, e.cap_ji);
  for (;;) {
    std::vector<Link*> into(n + 2, nullptr);
    std::vector<std::size_t> from(n + 2, n + 2);
    std::queue<std::size_t> queue({s});
    from[s] = s;
    while (!queue.empty() && from[t] == n + 2) {
      const std::size_t v = queue.front();
      queue.pop();
      for (Link& link : links[v]) {
        if (link.cap <= 0.0 || from[link.to] != n + 2) continue;
        from[link.to] = v;
        into[link.to] = &link;
        queue.push(link.to);
      }
    }
    if (from[t] == n + 2) {
      Solution solution{value, {}};
      for (std::size_t v = 0; v < n; ++v) solution.source.push_back(from[v] != n + 2);
      return solution;
    }
    double push = std::numeric_limits<double>::infinity();
    for (std::size_t v = t; v != s; v = from[v]) push = std::min(push, into[v]->cap);
    for (std::size_t v = t; v != s; v = from[v]) {
      into[v]->cap -= push;
      links[v][into[v]->back].cap += push;
    }
    value += push;
  }
}

enum class Numbers { kReal, kInteger, kHuge, kTiny, kMixed };

// Sums of these numbers are exact and ties between cuts are frequent, so the sides are determined: the smallest source
// side.
bool exact(Numbers numbers) {
  return numbers == Numbers::kInteger || numbers == Numbers::kHuge || numbers == Numbers::kTiny;
}

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint32_t>(n)); }
  double unit() { return static_cast<double>(engine_()) / 4294967296.0; }
  // At least zero; zero itself is frequent.
  double number(Numbers numbers) {
    if (below(5) == 0) return 0.0;
    switch (numbers) {
      case Numbers::kReal:
        return unit();
      case Numbers::kInteger:
        return below(5);
      case Numbers::kHuge:
        return 1e12 * below(5);
      case Numbers::kTiny:
        return std::ldexp(below(5), -40);  // about 1e-12
      case Numbers::kMixed:
        return std::pow(10.0, below(25) - 12) * (1 + below(9));
    }
    return 0.0;
  }
  Graph graph(int n, int n_edges, Numbers numbers) {
    Graph result{n, {}, {}};
    const double smoothness = std::pow(4.0, below(4) - 2);
    if (n == 0) return result;
    for (int k = below(2 * n + 1); k > 0; --k) {
      const double sign = below(4) == 0 ? -1.0 : 1.0;
      result.terminals.push_back({below(n), sign * number(numbers), sign * number(numbers)});
    }
    const int kind = below(3);  // undirected, one direction only, anything
    for (int k = 0; k < n_edges; ++k) {
      const double cap = smoothness * number(numbers);
      result.edges.push_back({below(n), below(n), cap,
                              kind == 0   ? cap
                              : kind == 1 ? 0.0
                                          : smoothness * number(numbers)});
    }
    return result;
  }

 private:
  std::mt19937 engine_;
};

// What every solution must satisfy, given an independent one.
void compare(const Graph& graph, const Solution& solution, const Solution& expected, bool exact_sides) {
  const double scale = magnitude(graph);
  CHECK(close(solution.value, expected.value, scale));
  CHECK(close(cost(graph, solution.source), solution.value, scale));
  if (exact_sides) CHECK(solution.source == expected.source);
}

void test_small_graphs_against_enumeration() {
  Random random(1);
  MinCut solver;  // one for all: the sizes change with every reset
  for (int round = 0; round < 6000; ++round) {
    const Numbers numbers = static_cast<Numbers>(round % 5);
    const int n = random.below(round % 10 == 0 ? 11 : 8);
    const Graph graph = random.graph(n, random.below(3 * n + 1), numbers);
    int n_near = 0;  // sides are compared where rounding cannot have decided between cuts
    const Solution expected = enumerate(graph, 1e-9 * magnitude(graph), &n_near);
    compare(graph, solve(solver, graph), expected, exact(numbers) || n_near == 1);
  }
}

void test_larger_graphs_against_edmonds_karp() {
  Random random(2);
  MinCut solver;
  for (int round = 0; round < 400; ++round) {
    const Numbers numbers = static_cast<Numbers>(round % 5);
    const int n = 1 + random.below(150);
    const Graph graph = random.graph(n, random.below(4 * n), numbers);
    compare(graph, solve(solver, graph), edmonds_karp(graph), exact(numbers));
  }
}

Graph grid(Random& random, int width, int height, double weight, Numbers numbers) {
  Graph graph{width * height, {}, {}};
  for (int v = 0; v < graph.n; ++v) {
    graph.terminals.push_back({v, random.number(numbers), random.number(numbers)});
    const double right = weight * random.number(numbers), below = weight * random.number(numbers);
    if ((v + 1) % width != 0) graph.edges.push_back({v, v + 1, right, right});
    if (v + width < graph.n) graph.edges.push_back({v, v + width, below, below});
  }
  return graph;
}

void test_grids_with_long_paths() {
  Random random(3);
  MinCut solver;
  for (const Numbers numbers : {Numbers::kReal, Numbers::kInteger, Numbers::kMixed})
    for (const double weight : {1.0, 2.0, 8.0})
      for (const int width : {1, 2, 7, 40}) {
        const Graph graph = grid(random, width, 400 / width, weight, numbers);
        compare(graph, solve(solver, graph), edmonds_karp(graph), exact(numbers));
      }
}

void test_chain_with_one_source_and_one_sink() {
  MinCut solver;
  const int n = 5000;
  Graph graph{n, {{0, 0.0, 10.0}, {n - 1, 10.0, 0.0}}, {}};
  for (int v = 0; v + 1 < n; ++v) graph.edges.push_back({v, v + 1, v == 3000 ? 1.5 : 2.0, 0.0});
  const Solution solution = solve(solver, graph);
  CHECK(solution.value == 1.5);
  bool right = true;
  for (int v = 0; v < n; ++v) right = right && solution.source[static_cast<std::size_t>(v)] == (v <= 3000);
  CHECK(right);
}

// Label costs: many arcs in one direction into (or out of) a few auxiliary nodes.
void test_high_degree_nodes() {
  Random random(4);
  MinCut solver;
  for (int round = 0; round < 60; ++round) {
    const Numbers numbers = round % 2 == 0 ? Numbers::kInteger : Numbers::kReal;
    Graph graph = grid(random, 20, 10, 0.5, numbers);
    const int n = graph.n, n_auxiliary = 1 + random.below(4);
    graph.n += n_auxiliary;
    for (int k = 0; k < n_auxiliary; ++k) {
      const double label_cost = 1 + random.below(30);
      const bool inward = random.below(2) == 0;
      graph.terminals.push_back({n + k, inward ? label_cost : 0.0, inward ? 0.0 : label_cost});
      for (int v = 0; v < n; ++v)
        if (random.below(3) > 0)
          graph.edges.push_back({v, n + k, inward ? label_cost : 0.0, inward ? 0.0 : label_cost});
    }
    compare(graph, solve(solver, graph), edmonds_karp(graph), exact(numbers));
  }
}

// A star: each leaf sends one unit through the hub, so the hub loses its parent for every leaf. Minutes if that scanned
// all arcs.
void test_star_is_not_quadratic() {
  MinCut solver;
  const int n_leaves = 300000;
  solver.reset(n_leaves + 2);
  for (int v = 0; v < n_leaves; ++v) {
    solver.add_terminal(v, 0.0, 1.0);
    solver.add_edge(v, n_leaves, 1.0, 0.0);
  }
  solver.add_edge(n_leaves, n_leaves + 1, std::numeric_limits<double>::infinity(), 0.0);
  solver.add_terminal(n_leaves + 1, n_leaves - 0.5, 0.0);
  CHECK(solver.solve() == n_leaves - 0.5);
  CHECK(solver.on_source_side(n_leaves) && solver.on_source_side(n_leaves + 1));
}

void test_trivial_graphs() {
  MinCut solver;
  solver.reset(0);
  CHECK(solver.solve() == 0.0);
  solver.reset(3);  // no costs: everything is indifferent, hence on the sink side
  CHECK(solver.solve() == 0.0);
  CHECK(!solver.on_source_side(0) && !solver.on_source_side(1) && !solver.on_source_side(2));
  solver.reset(3);  // no edges
  solver.add_terminal(0, 1.0, 2.0);
  solver.add_terminal(1, -3.0, -5.0);
  solver.add_terminal(2, 4.0, 4.0);
  CHECK(solver.solve() == 1.0 - 5.0 + 4.0);
  CHECK(solver.on_source_side(0) && !solver.on_source_side(1) && !solver.on_source_side(2));
  solver.reset(2);  // edges only
  solver.add_edge(0, 1, 1.0, 1.0);
  CHECK(solver.solve() == 0.0);
  CHECK(!solver.on_source_side(0) && !solver.on_source_side(1));
  solver.reset(2);  // a tie: the cut next to the source is the one with the smallest source side
  solver.add_terminal(0, 0.0, 1.0);
  solver.add_terminal(1, 1.0, 0.0);
  solver.add_edge(0, 1, 1.0, 0.0);
  CHECK(solver.solve() == 1.0);
  CHECK(!solver.on_source_side(0) && !solver.on_source_side(1));
  solver.reset(1);  // self loops cost nothing
  solver.add_edge(0, 0, 5.0, 5.0);
  solver.add_terminal(0, 1.0, 2.0);
  CHECK(solver.solve() == 1.0);
}

void test_terminals_add_up() {
  MinCut solver;
  solver.reset(1);
  solver.add_terminal(0, 1.0, 4.0);
  solver.add_terminal(0, 7.0, 2.0);
  solver.add_terminal(0, 0.5, 3.0);
  CHECK(solver.solve() == 8.5);
  CHECK(solver.on_source_side(0));
  solver.reset(1);  // a forbidden side does not drown small costs
  solver.add_terminal(0, 1e20, 0.0);
  solver.add_terminal(0, 0.0, 0.25);
  CHECK(solver.solve() == 0.25);
}

void test_disconnected_parts_add_up() {
  Random random(5);
  MinCut solver;
  for (int round = 0; round < 100; ++round) {
    const Graph a = random.graph(1 + random.below(30), random.below(60), Numbers::kInteger);
    const Graph b = random.graph(1 + random.below(30), random.below(60), Numbers::kInteger);
    Graph both = a;
    both.n += b.n;
    for (const Terminal& t : b.terminals) both.terminals.push_back({t.node + a.n, t.source, t.sink});
    for (const Edge& e : b.edges) both.edges.push_back({e.i + a.n, e.j + a.n, e.cap_ij, e.cap_ji});
    const Solution first = solve(solver, a), second = solve(solver, b);
    Sides sides = first.source;
    sides.insert(sides.end(), second.source.begin(), second.source.end());
    compare(both, solve(solver, both), {first.value + second.value, sides}, true);
  }
}

void test_infinite_edges_are_never_cut() {
  Random random(6);
  MinCut solver;
  for (int round = 0; round < 500; ++round) {
    const int n = 2 + random.below(7);
    Graph graph = random.graph(n, 2 * n, Numbers::kInteger);
    for (int k = 0; k < 3; ++k) {
      const double infinity = std::numeric_limits<double>::infinity();
      graph.edges.push_back({random.below(n), random.below(n), infinity, random.below(2) == 0 ? infinity : 0.0});
    }
    compare(graph, solve(solver, graph), enumerate(graph), true);
  }
}

void test_same_input_same_answer() {
  Random random(7);
  MinCut used, fresh;
  for (int round = 0; round < 50; ++round) {
    const Graph graph = random.graph(100, 300, Numbers::kReal);
    const Solution a = solve(used, graph), b = solve(used, graph);
    fresh = MinCut();
    const Solution c = solve(fresh, graph);
    CHECK(a.value == b.value && a.source == b.source);
    CHECK(a.value == c.value && a.source == c.source);
  }
}

void test_terminals_change_after_solving() {
  Random random(8);
  MinCut solver, fresh;
  for (int round = 0; round < 300; ++round) {
    const int n = 1 + random.below(40);
    Graph graph = random.graph(n, 3 * n, Numbers::kInteger);
    load(solver, graph);
    solver.solve();
    for (int change = 0; change < 4; ++change) {
      const Terminal t{random.below(n), random.number(Numbers::kInteger) - 2, random.number(Numbers::kInteger) - 2};
      graph.terminals.push_back(t);
      solver.add_terminal(t.node, t.source, t.sink);
      if (change != 1) compare(graph, read(solver, n), solve(fresh, graph), true);
    }
  }
}

}  // namespace

int main() {
  test_small_graphs_against_enumeration();
  test_larger_graphs_against_edmonds_karp();
  test_grids_with_long_paths();
  test_chain_with_one_source_and_one_sink();
  test_high_degree_nodes();
  test_star_is_not_quadratic();
  test_trivial_graphs();
  test_terminals_add_up();
  test_disconnected_parts_add_up();
  test_infinite_edges_are_never_cut();
  test_same_input_same_answer();
  test_terminals_change_after_solving();
  return multiutility::testing::report();
}
