// Minimum s-t cuts of sparse graphs with double capacities, made to be solved again and again.
//
// The method is incremental breadth-first search: Goldberg, Hed, Kaplan, Tarjan, Werneck, "Maximum flows by incremental
// breadth-first search" (ESA 2011), with the adoption in three passes of "Faster and more dynamic maximum flow by
// incremental breadth-first search" (ESA 2015). Two forests grow in turn, one level at a time: S from the nodes that
// can still receive flow from the source, T from those that can still send flow to the sink. Every node keeps a lower
// bound of its distance to its roots, and a parent exactly one level closer. Where the forests touch, flow is pushed
// from root to root; the nodes that lose their parent ("orphans") are hung elsewhere in their forest, or set free.
// Distances only grow and each node resumes its search for a parent where the last one ended, so nodes with thousands
// of arcs stay cheap, unlike in the Boykov-Kolmogorov method.
//
// There are no tolerances: a push takes the minimum along its path, so that subtracting it makes at least one residual
// exactly zero. The search ends because distances grow, whatever the rounding of the numbers.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "watch.hpp"

namespace multiutility {

class MinCut {
 public:
  // At its limit solve() returns early, with a flow that is possible but not yet the largest.
  void set_watch(Watch* watch) { watch_ = watch; }

  // Forgets nodes, edges and costs but keeps the memory: nothing is allocated once the largest graph has been seen.
  void reset(int n_nodes) {
    assert(n_nodes >= 0);
    n_ = n_nodes;
    built_ = false;
    constant_ = 0.0;
    edges_.clear();
    nodes_.assign(idx(n_nodes) + 1, Node{});
    dist_.assign(idx(n_nodes), 0);
    if (queue_.size() < idx(n_nodes)) {
      for (std::vector<int>* scratch : {&queue_, &lost_, &orphans_, &next_}) scratch->resize(idx(n_nodes));
      bucket_.resize(idx(n_nodes) + 2, kNone);
    }
  }

  // Pay cost_source if the node ends on the source side, cost_sink if on the sink side. Calls add up; costs are finite,
  // of any sign.
  void add_terminal(int node, double cost_source, double cost_sink) {
    assert(0 <= node && node < n_);
    double& excess = nodes_[idx(node)].excess;
    const double before = excess;
    excess += cost_sink - cost_source;
    // The constant is kept without going through the excess where possible: a small cost survives next to a huge one.
    if (before >= 0.0 && excess >= 0.0)
      constant_ += cost_source;
    else if (before <= 0.0 && excess <= 0.0)
      constant_ += cost_sink;
    else
      constant_ += cost_source + std::min(excess, 0.0) - std::min(before, 0.0);
  }

  // Pay cap_ij >= 0 if i is on the source side and j on the sink side, cap_ji >= 0 for the reverse. Capacities may be
  // infinite. Edges can only be added before the first solve() after a reset().
  void add_edge(int i, int j, double cap_ij, double cap_ji) {
    assert(!built_ && 0 <= i && i < n_ && 0 <= j && j < n_ && cap_ij >= 0.0 && cap_ji >= 0.0);
    if (i == j || (cap_ij == 0.0 && cap_ji == 0.0)) return;
    ++nodes_[idx(i)].first;
    ++nodes_[idx(j)].first;
    edges_.push_back({{j, i}, {cap_ij, cap_ji}});
  }

  // The minimum cost. Afterwards add_terminal() may change costs, and the next solve() starts from the present flow:
  // only the forests are grown anew.
  double solve() {
    if (!built_) build();
    plant();
    while (!active_[kSource].empty() && !expired(1)) {
      // One level each in turn; once T has nowhere left to grow, S alone completes the set of nodes reachable from the
      // source.
      if (active_[kSink].empty() || level_[kSource] <= level_[kSink])
        grow<kSource>();
      else
        grow<kSink>();
    }
    return constant_;
  }

  // After solve(): the smallest source side among all minimum cuts, that is the nodes reachable from the source through
  // residual arcs. It does not depend on the order of nodes and edges (up to rounding); indifferent nodes are on the
  // sink side.
  bool on_source_side(int node) const { return dist_[idx(node)] > 0; }

  // After solve(): what is left of the two capacities of the k-th edge that has any, and of a node's costs (> 0: the
  // source could send more, < 0: the sink could take more).
  double residual_along(int k) const { return edges_[idx(k)].residual[0]; }
  double residual_against(int k) const { return edges_[idx(k)].residual[1]; }
  double excess(int node) const { return nodes_[idx(node)].excess; }

 private:
  enum Side { kSource = 0, kSink = 1 };
  static constexpr int kNone = -1;
  static constexpr std::int64_t kScanSteps = 20, kAugmentSteps = 1000;  // for the watch

  // Arc 2e runs along edge e as it was added, arc 2e + 1 against it; so a ^ 1 is the reverse of arc a, and both
  // residuals, which change together, lie together.
  struct Edge {
    int head[2];
    double residual[2];
  };
  struct Arc {  // an entry of a node's list of outgoing arcs: the head is repeated here, since most visits need nothing
                // else
    int head, id;
  };
  struct Node {
    double excess = 0.0;  // what the source can still send (> 0) or the sink still take (< 0) here
    int first = 0;        // the node's arcs begin here in arcs_, and end where those of the next node begin
    int current = 0;      // no arc before this one leads to a parent at the present distance
    int parent = kNone;   // arc to the parent; kNone for roots and free nodes
  };

  bool expired(std::int64_t steps) { return watch_ != nullptr && watch_->expired(steps); }
  static std::size_t idx(int i) { return static_cast<std::size_t>(i); }
  double& residual(int arc) { return edges_[idx(arc >> 1)].residual[arc & 1]; }
  int head(int arc) const { return edges_[idx(arc >> 1)].head[arc & 1]; }

  // Distances are signed: d in S, -d in T, 0 for free nodes. signed_<side> translates both ways.
  template <Side side>
  static int signed_(int d) {
    return side == kSource ? d : -d;
  }
  // Arcs are listed away from their node. Flow runs away from the roots in S and toward them in T.
  template <Side side>
  static int from_root(int arc) {
    return side == kSource ? arc : arc ^ 1;
  }
  template <Side side>
  static int to_child(int arc_to_parent) {
    return side == kSource ? arc_to_parent ^ 1 : arc_to_parent;
  }

  // Sorts the arcs by node; on the way, pushes flow along single edges from excess to deficit, which on noisy data
  // settles a large part.
  void build() {
    built_ = true;
    int end = 0;
    for (Node& node : nodes_) node.first = end += node.first;
    if (arcs_.size() < idx(end)) arcs_.resize(idx(end));
    for (int a = 0; Edge& edge : edges_) {
      Node &tail = nodes_[idx(edge.head[1])], &head = nodes_[idx(edge.head[0])];
      arcs_[idx(--tail.first)] = {edge.head[0], a};
      arcs_[idx(--head.first)] = {edge.head[1], a + 1};
      a += 2;
      if (tail.excess * head.excess >= 0.0) continue;
      const double push = tail.excess > 0.0 ? std::min({tail.excess, -head.excess, edge.residual[0]})
                                            : -std::min({-tail.excess, head.excess, edge.residual[1]});
      tail.excess -= push;
      head.excess += push;
      edge.residual[0] -= push;
      edge.residual[1] += push;
      constant_ += std::abs(push);
    }
  }

  // Makes every node with an excess or a deficit a root.
  void plant() {
    for (const Side side : {kSource, kSink}) {
      active_[side].clear();
      level_[side] = top_[side] = 1;
    }
    for (int v = 0; v < n_; ++v) {
      Node& node = nodes_[idx(v)];
      node.parent = kNone;
      node.current = node.first;
      dist_[idx(v)] = (node.excess > 0.0) - (node.excess < 0.0);
      if (node.excess != 0.0) active_[node.excess > 0.0 ? kSource : kSink].push_back(v);
    }
    for (const Side side : {kSource, kSink}) roots_[side] = active_[side].size();
  }

  // Scans the outermost level of a forest: free neighbors join it one level further out, neighbors of the other forest
  // receive flow.
  template <Side side>
  void grow() {
    const int level = level_[side], here = signed_<side>(level);
    top_[side] = level + 1;
    scan_.swap(active_[side]);
    active_[side].clear();
    const int* const dist = dist_.data();
    const Arc* const arcs = arcs_.data();
    // Nodes that adoption moves to this level meanwhile need no scan: they were scanned at a smaller distance, and the
    // third pass of adoption puts the neighbors that they lead to back into the forest together with them.
    for (const int v : scan_) {
      if (roots_[kSource] == 0 || expired(kScanSteps)) break;
      const int end = nodes_[idx(v) + 1].first;
      for (int a = nodes_[idx(v)].first; dist[v] == here;) {
        while (a < end && (signed_<side>(dist[arcs[a].head]) > 0 || residual(from_root<side>(arcs[a].id)) <= 0.0)) ++a;
        if (a == end) break;
        if (dist[arcs[a].head] == 0)
          attach<side>(arcs[a++], level + 1);
        else {
          augment(from_root<side>(arcs[a].id));  // then look at the same arc again: it may have residual left
          if (expired(kAugmentSteps)) break;
        }
      }
    }
    level_[side] = level + 1;
  }

  // Kept out of line, as augment() is, because the scan in grow() runs faster alone.
  template <Side side>
  [[gnu::noinline]] void attach(Arc arc, int d) {
    place<side>(arc, d);
    active_[side].push_back(arc.head);
  }

  template <Side side>
  void place(Arc arc, int d) {
    Node& child = nodes_[idx(arc.head)];
    dist_[idx(arc.head)] = signed_<side>(d);
    child.parent = arc.id ^ 1;
    child.current = child.first;
  }

  // Pushes as much as possible from a root of S to a root of T through the given arc between the forests.
  [[gnu::noinline]] void augment(int bridge) {
    double push = residual(bridge);
    int v = head(bridge ^ 1);
    for (int p; (p = nodes_[idx(v)].parent) != kNone; v = head(p))
      push = std::min(push, residual(to_child<kSource>(p)));
    push = std::min(push, nodes_[idx(v)].excess);
    v = head(bridge);
    for (int p; (p = nodes_[idx(v)].parent) != kNone; v = head(p)) push = std::min(push, residual(to_child<kSink>(p)));
    push = std::min(push, -nodes_[idx(v)].excess);

    constant_ += push;
    residual(bridge) -= push;
    residual(bridge ^ 1) += push;
    drain<kSource>(head(bridge ^ 1), push);
    drain<kSink>(head(bridge), push);
  }

  // Applies a push to the path from v to its root, and repairs the forest.
  template <Side side>
  void drain(int v, double push) {
    int n_orphans = 0;
    for (int p; (p = nodes_[idx(v)].parent) != kNone; v = head(p)) {
      const int arc = to_child<side>(p);
      residual(arc ^ 1) += push;
      if ((residual(arc) -= push) == 0.0) orphans_[idx(n_orphans++)] = v;
    }
    if ((nodes_[idx(v)].excess -= signed_<side>(1) * push) == 0.0) {
      orphans_[idx(n_orphans++)] = v;
      if (--roots_[side] == 0) return fell<side>();
    }
    if (n_orphans == 0) return;
    for (int k = 0; k < n_orphans; ++k) nodes_[idx(orphans_[idx(k)])].parent = kNone;
    const int n_lost = detach<side>(n_orphans);
    if (n_lost > 0) spread<side>(rehang<side>(n_lost));
  }

  // The last root of a forest is gone: frees all its nodes at once.
  template <Side side>
  void fell() {
    for (int& d : dist_) d = signed_<side>(d) > 0 ? 0 : d;
    active_[side].clear();
  }

  // Adoption, first pass, in order of increasing distance: an orphan takes any parent at its distance; those that find
  // none are taken out of the forest into lost_, and their children become orphans. Orphans are given with the most
  // distant first.
  template <Side side>
  int detach(int n_orphans) {
    int* const dist = dist_.data();
    const Arc* const arcs = arcs_.data();
    Node* const nodes = nodes_.data();
    int* const queue = queue_.data();
    int n_lost = 0, front = 0, back = 0;
    while (n_orphans > 0 || front < back) {
      const bool from_queue = front < back && (n_orphans == 0 || std::abs(dist[queue[front]]) <
                                                                     std::abs(dist[orphans_[idx(n_orphans - 1)]]));
      const int v = from_queue ? queue[front++] : orphans_[idx(--n_orphans)];
      Node& node = nodes[v];
      const int closer = dist[v] - signed_<side>(1), farther = dist[v] + signed_<side>(1);
      const int n_queued = back, begin = node.first, end = nodes[v + 1].first;
      const int current = closer == 0 ? end : node.current;  // a former root: nothing is closer
      int a = current;
      for (; a < end; ++a) {
        const Arc arc = arcs[a];
        const int d = dist[arc.head];
        if (d == closer) {
          if (residual(to_child<side>(arc.id)) > 0.0) break;
        } else if (d == farther && nodes[arc.head].parent == (arc.id ^ 1)) {
          queue[back++] = arc.head;
        }
      }
      if (a < end) {
        node.parent = arcs[a].id;
        node.current = a;
        back = n_queued;  // the children stay
        continue;
      }
      for (a = begin; a < current; ++a)
        if (dist[arcs[a].head] == farther && nodes[arcs[a].head].parent == (arcs[a].id ^ 1))
          queue[back++] = arcs[a].head;
      dist[v] = 0;
      lost_[idx(n_lost++)] = v;
    }
    return n_lost;
  }

  // Second pass: finds the closest parent that each lost node has in what is left of the forest, and sorts the nodes by
  // the distance this gives. Nodes that would end beyond the outermost level stay free. Returns the smallest distance.
  template <Side side>
  int rehang(int n_lost) {
    const int* const dist = dist_.data();
    const Arc* const arcs = arcs_.data();
    const int top = top_[side];
    int lowest = top + 1;
    for (int k = 0; k < n_lost; ++k) {
      const int v = lost_[idx(k)], end = nodes_[idx(v) + 1].first;
      Node& node = nodes_[idx(v)];
      int closest = kNone;
      unsigned best =
          static_cast<unsigned>(top) - 1U;  // distance - 1, which as unsigned is huge for all nodes outside the forest
      for (int a = node.first; a < end; ++a) {
        const unsigned d = static_cast<unsigned>(signed_<side>(dist[arcs[a].head])) - 1U;
        if (d < best && residual(to_child<side>(arcs[a].id)) > 0.0) {
          best = d;
          closest = a;
        }
      }
      node.parent = kNone;
      if (closest == kNone) continue;
      node.parent = arcs[closest].id;
      node.current = closest;
      const int d = static_cast<int>(best) + 2;
      next_[idx(v)] = bucket_[idx(d)];
      bucket_[idx(d)] = v;
      lowest = std::min(lowest, d);
    }
    return lowest;
  }

  // Third pass, again in order of increasing distance: lost nodes get their place in the forest, and may offer a
  // shorter way to other lost nodes than the second pass has found.
  template <Side side>
  void spread(int lowest) {
    int* const queue = queue_.data();
    const Arc* const arcs = arcs_.data();
    const int top = top_[side];
    for (int d = lowest, front = 0, back = 0; d <= top; ++d) {
      for (int v = bucket_[idx(d)]; v != kNone; v = next_[idx(v)]) {
        if (dist_[idx(v)] != 0) continue;
        dist_[idx(v)] = signed_<side>(d);
        queue[back++] = v;
      }
      bucket_[idx(d)] = kNone;
      if (d == top) active_[side].insert(active_[side].end(), queue + front, queue + back);
      if (d == top) break;  // neighbors farther out stay free, and are found when this level is scanned
      for (const int n_level = back; front < n_level; ++front) {
        const int v = queue[front], end = nodes_[idx(v) + 1].first;
        for (int a = nodes_[idx(v)].first; a < end; ++a) {
          if (dist_[idx(arcs[a].head)] != 0 || residual(from_root<side>(arcs[a].id)) <= 0.0) continue;
          place<side>(arcs[a], d + 1);
          queue[back++] = arcs[a].head;
        }
      }
    }
  }

  Watch* watch_ = nullptr;
  int n_ = 0;
  bool built_ = false;
  double constant_ = 0.0;  // cost so far: of the terminals, then of the flow; at the end the minimum
  int level_[2] = {1, 1};  // the level of each forest to be scanned next
  int top_[2] = {1, 1};    // the largest distance allowed: level_, or one more while the forest grows
  std::size_t roots_[2] = {0, 0};
  std::vector<Node> nodes_;  // and one more, for the end of the last node's arcs
  std::vector<int> dist_;
  std::vector<Edge> edges_;
  std::vector<Arc> arcs_;
  std::vector<int> active_[2];  // nodes at the level to be scanned next (and some that have left it)
  std::vector<int> scan_, orphans_, queue_, lost_;
  std::vector<int> bucket_, next_;  // lists of lost nodes by distance
};

}  // namespace multiutility
