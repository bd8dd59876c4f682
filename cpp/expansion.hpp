// Alpha-expansion with subset costs, primal-dual: every move starts from the flow that earlier moves left behind.
//
// The energy is kept reparametrized. `flow(k, e)` shifts cost of label k between the ends of edge e, and `share(slot)`
// charges a part of a subset's cost to one of its nodes, so that
//   height(k, i) = unary(i, k) + flows into i + shares of i in subsets of label k.
// Three invariants hold between moves, for the current labels x:
//   1. an edge costs nothing beyond the heights: flow(x_tail) - flow(x_head) = weight [x_tail != x_head];
//   2. no label is overdrawn on an edge: flow(x_tail) - weight <= flow(k) <= flow(x_head) + weight for every k;
//   3. a subset in use is charged, in full, to nodes that carry its label; one out of use is charged at most its cost.
// Hence the energy is the sum of height(x_i, i), and in the graph of the move to alpha (Boykov et al. 2001, Delong et
// al. 2012) node i has the terminal capacity height(x_i, i) - height(alpha, i), every arc a residual that is read off
// flow and share, and each subset that the move may charge or release one auxiliary node. Only nodes that would gain
// by themselves are sources; after the first sweep these are few, and the search below never looks far from them. It is
// the source half of incremental breadth-first search (Goldberg et al. 2011). The minimum cut restores the invariants
// for the new labels by itself (compare Komodakis and Tziritas 2007 for energies without subset costs).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "problem.hpp"

namespace multiutility {

class Expansion {
 public:
  struct Change {
    int node, label;
  };

  void load(const Problem& problem) {
    p_ = &problem;
    n_ = problem.n_nodes;
    k_ = problem.n_labels;
    e_ = problem.n_edges;
    const int total = n_ + problem.n_subsets;
    tolerance_ = 1e-13 * problem.scale;
    height_.resize(idx(n_) * idx(k_));
    flow_.resize(idx(e_) * idx(k_));
    share_.resize(problem.member.size());
    current_.resize(idx(n_));
    room_.resize(idx(e_));
    labels_.resize(idx(n_));
    in_use_.resize(idx(problem.n_subsets));
    spare_.resize(idx(problem.n_subsets));
    listed_.resize(idx(problem.n_subsets));
    roster_.resize(problem.member.size());
    place_.resize(problem.member.size());
    ground_ = depth_now_ = 0;
    depth_.assign(idx(total), 0);
    parent_.assign(idx(total), kRoot);
    next_arc_.assign(idx(total), 0);
    stale_.assign(idx(problem.n_subsets), 0);
  }

  // Begin from `labels`, with flows and shares from elsewhere (any values) or from nothing.
  void start(const std::vector<int>& labels, const std::vector<double>* flow = nullptr,
             const std::vector<double>* share = nullptr) {
    labels_ = labels;
    for (int i = 0; i < n_; ++i)
      for (int k = 0; k < k_; ++k) height_[at(k, i)] = p_->cost(i, k);
    std::fill(flow_.begin(), flow_.end(), 0.0);
    if (flow != nullptr)
      for (int k = 0; k < k_; ++k)
        for (int e = 0; e < e_; ++e) set_flow(k, e, (*flow)[on(k, e)]);
    for (int e = 0; e < e_; ++e) settle_edge(e, flow != nullptr);
    std::fill(share_.begin(), share_.end(), 0.0);
    if (share != nullptr)
      for (std::size_t slot = 0; slot < share_.size(); ++slot) set_share(static_cast<int>(slot), (*share)[slot]);
    for (std::size_t slot = 0; slot < share_.size(); ++slot) roster_[slot] = place_[slot] = static_cast<int>(slot);
    for (int s = 0; s < p_->n_subsets; ++s) {
      in_use_[idx(s)] = 0;
      for (int slot = p_->subset_start[idx(s)]; slot < p_->subset_start[idx(s) + 1]; ++slot)
        in_use_[idx(s)] += carries(slot);
      settle_subset(s);
    }
    for (int i = 0; i < n_; ++i) current_[idx(i)] = height_[at(labels_[idx(i)], i)];
    energy_ = p_->evaluate(labels_);
  }

  const std::vector<int>& labels() const { return labels_; }
  double energy() const { return energy_; }
  bool in_use(int subset) const { return in_use_[idx(subset)] > 0; }
  long n_moves() const { return n_moves_; }
  long n_flows() const { return n_flows_; }
  void clear_counts() { n_moves_ = n_flows_ = 0; }

  // The best move in which any set of nodes turns to alpha; true if it lowers the energy.
  bool expand(int alpha) {
    ++n_moves_;
    alpha_ = alpha;
    target_ = &height_[at(alpha, 0)];
    alpha_flow_ = flow_.data() + on(alpha, 0);
    level_.clear();
    for (int i = 0; i < n_; ++i)
      if (current_[idx(i)] - target_[i] > tolerance_) level_.push_back(i);
    std::erase_if(level_, [this](int i) { return drain(i); });
    if (level_.empty()) return false;
    ++n_flows_;
    grow_trees();
    changes_.clear();
    for (const int v : touched_)
      if (v < n_ && in_tree(v)) {
        changes_.push_back({v, alpha});
        depth_[idx(v)] = ground_;  // a node may have been touched twice
      }
    return !changes_.empty() && apply(changes_, false);
  }

  // Change labels by force, whatever that costs.
  void assign(const std::vector<Change>& changes) { apply(changes, true); }

  // Energy gained or lost if one node alone took `label`.
  double change_of(int i, int label) const {
    const int old = labels_[idx(i)];
    if (old == label) return 0.0;
    double change = p_->cost(i, label) - p_->cost(i, old);
    for (int a = p_->arc_start[idx(i)]; a < p_->arc_start[idx(i) + 1]; ++a) {
      const auto& arc = p_->arcs[idx(a)];
      const int other = labels_[idx(arc.head)];
      change += p_->weight[idx(arc.edge)] * ((other != label) - (other != old));
    }
    for (auto [q, end] = p_->entries_of(i, old); q < end; ++q)
      if (in_use_[idx(p_->entries[idx(q)].subset)] == 1) change -= p_->subset_cost[idx(p_->entries[idx(q)].subset)];
    for (auto [q, end] = p_->entries_of(i, label); q < end; ++q)
      if (in_use_[idx(p_->entries[idx(q)].subset)] == 0) change += p_->subset_cost[idx(p_->entries[idx(q)].subset)];
    return change;
  }

 private:
  struct Range {
    double low, high;
  };
  static constexpr int kRoot = -1, kOrphan = -2;
  static constexpr double kInUse = -1.0;

  std::size_t at(int label, int node) const { return idx(label) * idx(n_) + idx(node); }
  std::size_t on(int label, int edge) const { return idx(label) * idx(e_) + idx(edge); }

  // --- the reparametrization ---------------------------------------------------------------------------------------

  void set_flow(int label, int edge, double value) {
    double& flow = flow_[on(label, edge)];
    const double change = value - flow;
    flow = value;
    height_[at(label, p_->tail[idx(edge)])] += change;
    height_[at(label, p_->head[idx(edge)])] -= change;
  }

  void set_share(int slot, double value) {
    const int label = p_->subset_label[idx(p_->owner[idx(slot)])], node = p_->member[idx(slot)];
    height_[at(label, node)] += value - share_[idx(slot)];
    share_[idx(slot)] = value;
    if (labels_[idx(node)] == label) refresh(node);
  }

  // Invariants 1 and 2 for one edge, after a label at one of its ends has changed.
  void settle_edge(int edge, bool bound_all = true) {
    const int a = labels_[idx(p_->tail[idx(edge)])], b = labels_[idx(p_->head[idx(edge)])];
    const double weight = p_->weight[idx(edge)];
    if (a != b) {
      const double lack = weight - (flow_[on(a, edge)] - flow_[on(b, edge)]);
      if (lack != 0.0) {
        set_flow(a, edge, flow_[on(a, edge)] + 0.5 * lack);
        set_flow(b, edge, flow_[on(b, edge)] - 0.5 * lack);
      }
    }
    const double low = flow_[on(a, edge)] - weight, high = flow_[on(b, edge)] + weight;
    room_[idx(edge)] = {low, high};
    if (!bound_all) return;
    for (int k = 0; k < k_; ++k) {
      const double value = flow_[on(k, edge)];
      if (value < low) set_flow(k, edge, low);
      else if (value > high) set_flow(k, edge, high);
    }
  }

  bool carries(int slot) const {
    return labels_[idx(p_->member[idx(slot)])] == p_->subset_label[idx(p_->owner[idx(slot)])];
  }

  // Invariant 3 for one subset, after a forced change of labels or when it came into use or out of use.
  void settle_subset(int s) {
    const int first = p_->subset_start[idx(s)], last = p_->subset_start[idx(s) + 1];
    const bool used = in_use_[idx(s)] > 0;
    double charged = 0.0;
    listed_[idx(s)] = 0;
    for (int slot = first; slot < last; ++slot) {
      if (used && share_[idx(slot)] != 0.0 && !carries(slot)) set_share(slot, 0.0);
      if (used ? carries(slot) : share_[idx(slot)] != 0.0) list(slot);
      charged += share_[idx(slot)];
    }
    const double lack = p_->subset_cost[idx(s)] - charged;
    spare_[idx(s)] = used ? kInUse : std::max(0.0, lack);
    if (!used || lack == 0.0) return;
    // All on one node, the one that likes the label best: it is unlikely to leave, and then no flow need pass here.
    int keeper = roster_[idx(first)];
    for (int r = first; r < first + listed_[idx(s)]; ++r)
      if (liking(roster_[idx(r)]) > liking(keeper)) keeper = roster_[idx(r)];
    set_share(keeper, share_[idx(keeper)] + lack);
  }

  double liking(int slot) const {
    return -p_->cost(p_->member[idx(slot)], p_->subset_label[idx(p_->owner[idx(slot)])]);
  }

  // The roster of a subset begins with the slots that arcs of its auxiliary node can lead to: the nodes that carry its
  // label if it is in use, else those that are charged a share. Subsets are large and these are few.
  void list(int slot) {
    const int s = p_->owner[idx(slot)];
    swap_places(slot, roster_[idx(p_->subset_start[idx(s)] + listed_[idx(s)]++)]);
  }

  void unlist(int slot) {
    const int s = p_->owner[idx(slot)];
    swap_places(slot, roster_[idx(p_->subset_start[idx(s)] + --listed_[idx(s)])]);
  }

  void swap_places(int slot, int other) {
    std::swap(place_[idx(slot)], place_[idx(other)]);
    roster_[idx(place_[idx(slot)])] = slot;
    roster_[idx(place_[idx(other)])] = other;
  }

  bool is_listed(int slot) const {
    const int s = p_->owner[idx(slot)];
    return place_[idx(slot)] < p_->subset_start[idx(s)] + listed_[idx(s)];
  }

  void set_label(int i, int label) {
    energy_ += change_of(i, label);
    for (auto [q, end] = p_->entries_of(i, labels_[idx(i)]); q < end; ++q) {
      const auto& entry = p_->entries[idx(q)];
      --in_use_[idx(entry.subset)];
      if (is_listed(entry.slot)) unlist(entry.slot);
    }
    for (auto [q, end] = p_->entries_of(i, label); q < end; ++q) {
      const auto& entry = p_->entries[idx(q)];
      ++in_use_[idx(entry.subset)];
      if (!is_listed(entry.slot)) list(entry.slot);
    }
    labels_[idx(i)] = label;
  }

  // Take over changed labels and mend the reparametrization. An unforced change that turns out not to lower the energy
  // (rounding) is taken back; then the result is false.
  bool apply(const std::vector<Change>& changes, bool forced) {
    const double before = energy_;
    undo_.clear();
    for (const Change& c : changes) {
      undo_.push_back({c.node, labels_[idx(c.node)]});
      set_label(c.node, c.label);
    }
    const bool keep = forced || energy_ < before - 1e-12 * std::abs(before);
    if (!keep) {
      for (std::size_t r = undo_.size(); r-- > 0;) set_label(undo_[r].node, undo_[r].label);
      energy_ = before;
    }
    mend(forced || !keep);
    return keep;
  }

  void mend(bool forced) {
    for (const Change& c : undo_)
      for (int a = p_->arc_start[idx(c.node)]; a < p_->arc_start[idx(c.node) + 1]; ++a)
        settle_edge(p_->arcs[idx(a)].edge);
    // A minimum cut leaves the shares right, so after one only subsets that came into use or out of use need care.
    for (const Change& c : undo_)
      for (auto [q, end] = p_->entries_of(c.node, c.label); q < end; ++q) {
        const int s = p_->entries[idx(q)].subset;
        if (forced || in_use_[idx(s)] == 0) mark_stale(s);
      }
    for (const Change& c : undo_)
      for (auto [q, end] = p_->entries_of(c.node, labels_[idx(c.node)]); q < end; ++q) {
        const int s = p_->entries[idx(q)].subset;
        if (forced || spare_[idx(s)] >= 0.0) mark_stale(s);
      }
    for (const int s : stale_list_) {
      stale_[idx(s)] = 0;
      settle_subset(s);
    }
    stale_list_.clear();
    for (const Change& c : undo_) {
      refresh(c.node);
      for (int a = p_->arc_start[idx(c.node)]; a < p_->arc_start[idx(c.node) + 1]; ++a)
        refresh(p_->arcs[idx(a)].head);
    }
  }

  void mark_stale(int s) {
    if (stale_[idx(s)]) return;
    stale_[idx(s)] = 1;
    stale_list_.push_back(s);
  }

  void refresh(int i) { current_[idx(i)] = height_[at(labels_[idx(i)], i)]; }

  // --- the graph of a move: nodes 0 .. V-1, then one auxiliary node for each subset ---------------------------------
  // An arc code below 2 E is an arc of the graph; 2 E + slot joins a node and the auxiliary node of a subset.

  // What v could still send out (positive) or take in (negative).
  double excess(int v) const { return v < n_ ? current_[idx(v)] - target_[v] : -spare_of(v - n_); }

  bool charges(int s) const { return p_->subset_label[idx(s)] == alpha_; }

  // The auxiliary node of an unused subset of alpha passes on to the sink what is not yet charged to any node.
  double spare_of(int s) const { return charges(s) && in_use_[idx(s)] == 0 ? spare_[idx(s)] : 0.0; }

  // Along an edge from its tail (the lower node) flow of alpha may rise to its upper bound, from its head sink to the lower.
  double arc_residual(const Problem::Arc& arc, bool from_tail) const {
    const Range& room = room_[idx(arc.edge)];
    return from_tail ? room.high - alpha_flow_[arc.edge] : alpha_flow_[arc.edge] - room.low;
  }

  double slot_residual(int slot, int from) const {
    const int s = p_->owner[idx(slot)];
    return (from < n_) == charges(s) ? p_->subset_cost[idx(s)] - share_[idx(slot)] : share_[idx(slot)];
  }

  double residual(int code, int from, int to) const {
    return code < 2 * e_ ? arc_residual(p_->arcs[idx(code)], from < to) : slot_residual(code - 2 * e_, from);
  }

  bool open(int code, int from, int to) const { return residual(code, from, to) > tolerance_; }

  int other_end(int code, int v) const {
    if (code < 2 * e_) return p_->arcs[idx(code)].head;
    return v < n_ ? n_ + p_->owner[idx(code - 2 * e_)] : p_->member[idx(code - 2 * e_)];
  }

  int seen_from_other_end(int code) const { return code < 2 * e_ ? p_->reverse[idx(code)] : code; }

  void push(int code, int from, int to, double amount) {
    if (code < 2 * e_) {
      alpha_flow_[p_->arcs[idx(code)].edge] += from < to ? amount : -amount;
      target_[from] += amount;
      target_[to] -= amount;
      return;
    }
    const int slot = code - 2 * e_, s = p_->owner[idx(slot)], node = p_->member[idx(slot)];
    const double signed_amount = (from < n_) == charges(s) ? amount : -amount;
    share_[idx(slot)] += signed_amount;
    if (charges(s)) {
      target_[node] += signed_amount;
      if (!is_listed(slot)) list(slot);
    } else {
      current_[idx(node)] += signed_amount;
      height_[at(labels_[idx(node)], node)] += signed_amount;
    }
  }

  // Calls visit(code, position, other) for the arcs of v that are part of this move, from `position` on, until one
  // returns true. Charges come first: most excess ends there.
  template <class Visit>
  void for_arcs(int v, int position, Visit&& visit) const {
    if (v >= n_) {
      const int s = v - n_, first = p_->subset_start[idx(s)];
      for (int r = first + position; r < first + listed_[idx(s)]; ++r) {
        const int slot = roster_[idx(r)];
        if (visit(2 * e_ + slot, r - first, p_->member[idx(slot)])) return;
      }
      return;
    }
    int base = 0;
    if (p_->n_subsets > 0) {
      const auto [first, last] = p_->entries_of(v, alpha_);
      for (int q = first + position; q < last; ++q) {
        const auto& entry = p_->entries[idx(q)];
        if (in_use_[idx(entry.subset)] == 0 && visit(2 * e_ + entry.slot, q - first, n_ + entry.subset)) return;
      }
      base = last - first;
    }
    const int first = p_->arc_start[idx(v)], last = p_->arc_start[idx(v) + 1];
    for (int a = first + std::max(0, position - base); a < last; ++a) {
      const int other = p_->arcs[idx(a)].head;
      if (labels_[idx(other)] != alpha_ && visit(a, base + a - first, other)) return;
    }
    if (p_->n_subsets > 0) {
      base += last - first;
      const auto [begin, end] = p_->entries_of(v, labels_[idx(v)]);
      for (int q = begin + std::max(0, position - base); q < end; ++q) {
        const auto& entry = p_->entries[idx(q)];
        if (visit(2 * e_ + entry.slot, base + q - begin, n_ + entry.subset)) return;
      }
    }
  }

  // --- incremental breadth-first search from the sources -------------------------------------------------------------

  // Depths count on from move to move, so that nothing need be cleared: what is not beyond `ground_` is in no tree.
  bool in_tree(int v) const { return depth_[idx(v)] > ground_; }

  void enter(int v, int depth, int parent) {
    touched_.push_back(v);
    depth_[idx(v)] = depth;
    parent_[idx(v)] = parent;
    next_arc_[idx(v)] = 0;
  }

  // Most excess is taken in by a neighbor; what is left makes a node a source. True if nothing is left.
  bool drain(int i) {
    for_arcs(i, 0, [&](int code, int, int u) {
      const double take = std::min({excess(i), -excess(u), residual(code, i, u)});
      if (take <= tolerance_) return false;
      push(code, i, u, take);
      if (u >= n_) spare_[idx(u - n_)] -= take;
      return excess(i) <= tolerance_;
    });
    return excess(i) <= tolerance_;
  }

  // Grow the trees of the sources level by level; whatever can take flow is fed on the way. What is in a tree at the
  // end turns to alpha.
  void grow_trees() {
    touched_.clear();
    next_level_.clear();
    ground_ = depth_now_ + 1;
    depth_now_ = ground_ + 1;
    for (const int v : level_) enter(v, depth_now_, kRoot);
    sources_ = level_;
    for (; !level_.empty(); ++depth_now_) {
      for (std::size_t r = 0; r < level_.size(); ++r) grow_from(level_[r]);
      level_.swap(next_level_);
      next_level_.clear();
    }
  }

  void grow_from(int v) {
    if (depth_[idx(v)] != depth_now_) return;
    for_arcs(v, 0, [&](int code, int, int u) {
      while (!in_tree(u) && open(code, v, u)) {
        if (excess(u) < -tolerance_) {
          augment(v, code, u);
          if (depth_[idx(v)] != depth_now_) return true;
        } else {
          enter(u, depth_now_ + 1, seen_from_other_end(code));
          next_level_.push_back(u);
        }
      }
      return false;
    });
  }

  void augment(int v, int code, int u) {
    double amount = std::min(residual(code, v, u), -excess(u));
    int root = v;
    while (parent_[idx(root)] >= 0) {
      const int up = other_end(parent_[idx(root)], root);
      amount = std::min(amount, residual(parent_[idx(root)], up, root));
      root = up;
    }
    amount = std::min(amount, excess(root));
    push(code, v, u, amount);
    if (u >= n_) spare_[idx(u - n_)] -= amount;
    for (int w = v; parent_[idx(w)] >= 0;) {
      const int arc = parent_[idx(w)], up = other_end(arc, w);
      push(arc, up, w, amount);
      if (!open(arc, up, w)) make_orphan(w);
      w = up;
    }
    if (excess(root) <= tolerance_) make_orphan(root);
    adopt();
  }

  void make_orphan(int v) {
    parent_[idx(v)] = kOrphan;
    orphans_.push_back(v);
  }

  // Each orphan finds a parent as near to a source as before, or moves to a deeper level, or leaves its tree.
  void adopt() {
    while (!orphans_.empty()) {
      const int v = orphans_.back();
      orphans_.pop_back();
      if (v >= n_ && charges(v - n_) ? !adopt_at_source(v) : !adopt_at_same_depth(v)) move_down(v);
    }
  }

  bool adopt_at_same_depth(int v) {
    const int above = depth_[idx(v)] - 1;
    if (above == ground_) return false;
    bool found = false;
    for_arcs(v, next_arc_[idx(v)], [&](int code, int position, int u) {
      if (!in_tree(u) || depth_[idx(u)] != above || !open(code, u, v)) return false;
      parent_[idx(v)] = code;
      next_arc_[idx(v)] = position;
      return found = true;
    });
    return found;
  }

  // Any node may be the parent of a charging auxiliary node; the sources are the nearest and almost always suffice.
  bool adopt_at_source(int v) {
    if (depth_[idx(v)] != ground_ + 2) return false;
    for (; !sources_.empty(); sources_.pop_back()) {
      const int i = sources_.back();
      if (parent_[idx(i)] != kRoot) continue;
      const int code = code_between(i, v - n_);
      if (code < 0 || !open(code, i, v)) continue;
      parent_[idx(v)] = code;
      return true;
    }
    return false;
  }

  int code_between(int i, int s) const {
    for (auto [q, end] = p_->entries_of(i, alpha_); q < end; ++q)
      if (p_->entries[idx(q)].subset == s) return 2 * e_ + p_->entries[idx(q)].slot;
    return -1;
  }

  void move_down(int v) {
    int parent = kOrphan, nearest = depth_now_ + 1;
    const auto consider = [&](int code, int position, int u) {
      if (!in_tree(u)) return false;
      if (depth_[idx(u)] < nearest && open(code, u, v)) {
        parent = code;
        nearest = depth_[idx(u)];
        next_arc_[idx(v)] = position;
      }
      if (parent_[idx(u)] == seen_from_other_end(code)) make_orphan(u);
      return false;
    };
    for_arcs(v, 0, consider);
    if (v >= n_ && charges(v - n_)) {
      const int s = v - n_, first = p_->subset_start[idx(s)];
      for (int r = first + listed_[idx(s)]; r < p_->subset_start[idx(s) + 1]; ++r)
        consider(2 * e_ + roster_[idx(r)], 0, p_->member[idx(roster_[idx(r)])]);
    }
    depth_[idx(v)] = parent >= 0 ? nearest + 1 : ground_;
    parent_[idx(v)] = parent;
    if (parent < 0) return;
    if (nearest == depth_now_) next_level_.push_back(v);
    else if (nearest + 1 == depth_now_) level_.push_back(v);
  }

  const Problem* p_ = nullptr;
  int n_ = 0, k_ = 0, e_ = 0;
  double tolerance_ = 0.0, energy_ = 0.0;
  long n_moves_ = 0, n_flows_ = 0;
  std::vector<double> height_, flow_, share_;          // [K, V], [K, E], [slots]
  std::vector<double> current_;                        // height of the present label
  std::vector<Range> room_;                            // what invariant 2 allows on each edge
  std::vector<double> spare_;                          // cost of an unused subset not yet charged to any node, or kInUse
  std::vector<int> labels_, in_use_, listed_, roster_, place_;
  std::vector<Change> changes_, undo_;
  std::vector<char> stale_;
  std::vector<int> stale_list_;

  int alpha_ = 0, ground_ = 0, depth_now_ = 0;
  double* target_ = nullptr;      // heights of alpha
  double* alpha_flow_ = nullptr;  // flows of alpha
  std::vector<int> depth_, parent_, next_arc_;
  std::vector<int> level_, next_level_, orphans_, touched_, sources_;
};

}  // namespace multiutility
