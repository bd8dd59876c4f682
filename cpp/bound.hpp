// A certified lower bound of the minimum of a Potts energy with subset costs.
//
// The bound is a value of the dual of the linear relaxation (local polytope for the edges, z_s >= x_i(label) for the
// subsets). Its variables are flows, for every edge (a, b) and label, within [-weight / 2, weight / 2], and shares of
// every subset's cost, for its nodes, >= 0 and in sum at most the cost. With any of these, every labeling y has
//   weight [y_a != y_b] >= flow(y_a) - flow(y_b),   cost [some y_i = label] >= sum of the shares where y_i = label,
// so the sum over the nodes of min_k belief(i, k), where belief = unary + flows + shares, is a lower bound. Nothing but
// the limits of flows and shares is needed to trust it.
//
// Message passing (block-coordinate ascent) gets stuck where several labels of a node have to rise together. The
// primal-dual hybrid gradient method does not: flows and shares rise with the cost that they cause to a relaxed
// labeling x (a point of the simplex for every node), and x falls along the beliefs. Chambolle and Pock, "A first-order
// primal-dual algorithm for convex problems", 2011; step sizes: Pock and Chambolle, "Diagonal preconditioning for first
// order primal-dual algorithms", 2011.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "problem.hpp"
#include "watch.hpp"

namespace multiutility {

class Bound {
 public:
  // At its limit the best bound so far is returned.
  void set_watch(Watch* watch) { watch_ = watch; }

  // A lower bound of the energy, without its offset; `energy` is that of a known labeling and says when nothing is left
  // to do.
  double lower(const Problem& problem, double energy) {
    if (problem.n_nodes == 0) return 0.0;
    load(problem);
    return raise(energy * problem.factor) / problem.factor;
  }

 private:
  static constexpr int kLanes = 4;
  static constexpr int kCheck = 25;
  static constexpr double kClosed = 1e-6, kEnough = 5e-4;  // relative to the range

  double raise(double energy) {
    double best = sweep();
    // Unlike the energy itself, its distance from the first bound does not depend on constants within the unaries.
    const double range = std::max(energy - best, 0.0);
    const int n_rounds = rounds();
    for (int round = 1; round <= n_rounds && energy - best > margin_ + kClosed * range; ++round) {
      if (watch_ != nullptr && watch_->expired()) break;
      best = std::max(best, sweep());
      if (round % kCheck != 0) continue;
      // Where the relaxation lies below the energy the gap will stay open, and less than exactness will do.
      const double ceiling = relaxed_value();
      if (ceiling < energy - kClosed * range && ceiling - best < kEnough * range) break;
    }
    return best - margin_;
  }

  // What is left of the gap falls like 1 / rounds: large problems have to do with fewer, for the sake of seconds.
  int rounds() const {
    const double work = static_cast<double>(flow_.size() + relaxed_.size() + share_.size());
    return static_cast<int>(std::clamp(4e8 / work, 200.0, 1000.0));
  }

  void load(const Problem& problem) {
    p_ = &problem;
    stride_ = (problem.n_labels + kLanes - 1) / kLanes * kLanes;
    const std::size_t size = idx(problem.n_nodes) * idx(stride_);
    unary_.assign(size, std::numeric_limits<double>::infinity());  // labels that only fill up the stride never count
    relaxed_.assign(size, 0.0);
    for (int i = 0; i < problem.n_nodes; ++i) {
      std::copy_n(&problem.unary[idx(i) * idx(problem.n_labels)], problem.n_labels, &unary_[idx(i) * idx(stride_)]);
      std::fill_n(&relaxed_[idx(i) * idx(stride_)], problem.n_labels, 1.0 / problem.n_labels);
    }
    ahead_.assign(size, 0.0);
    flow_.assign(idx(problem.n_edges) * idx(stride_), 0.0);
    share_.assign(problem.member.size(), 0.0);
    belief_.assign(idx(stride_), 0.0);
    node_level_.assign(idx(problem.n_nodes), 0.0);
    subset_level_.assign(idx(problem.n_subsets), 0.0);
    choose_steps();
    choose_margin();
  }

  // The method converges with any steps of flows and shares if the step of a node is at most the inverse of the sum of
  // those around it, flows counting twice. Steps in proportion to the limits make it indifferent to the costs' scale.
  void choose_steps() {
    share_step_.resize(idx(p_->n_subsets));
    for (int s = 0; s < p_->n_subsets; ++s) {
      const double size = p_->subset_start[idx(s) + 1] - p_->subset_start[idx(s)];
      share_step_[idx(s)] = p_->subset_cost[idx(s)] / std::sqrt(size);  // between the cost and its even distribution
    }
    node_step_.assign(idx(p_->n_nodes), 0.0);
    for (int i = 0; i < p_->n_nodes; ++i) {
      double flows = 0.0, shares = 0.0, most_shares = 0.0;
      for (int a = p_->arc_start[idx(i)]; a < p_->arc_start[idx(i) + 1]; ++a)
        flows += p_->weight[idx(p_->arcs[idx(a)].edge)];
      for (int q = p_->entry_start[idx(i)], label = -1; q < p_->entry_start[idx(i) + 1]; ++q) {
        const auto& entry = p_->entries[idx(q)];
        shares = share_step_[idx(entry.subset)] + (entry.label == label ? shares : 0.0);
        most_shares = std::max(most_shares, shares);
        label = entry.label;
      }
      // Where there is nothing around, any step will do.
      const double total = flows + most_shares > 0.0 ? flows + most_shares : p_->scale;
      node_step_[idx(i)] = 1.0 / std::max(total, std::numeric_limits<double>::min());
    }
  }

  // What rounding can do to the bound at most: the number of additions in a row, times epsilon, times what is added.
  // No minimum has a label that costs more than leaving it does, so prices of forbidden labels do not count.
  void choose_margin() {
    double magnitude = 0.0, longest = 0.0;
    for (int i = 0; i < p_->n_nodes; ++i) {
      const double* row = &p_->unary[idx(i) * idx(p_->n_labels)];
      const auto [low, high] = std::minmax_element(row, row + p_->n_labels);
      double reach = 0.0, length = 0.0;
      for (int a = p_->arc_start[idx(i)]; a < p_->arc_start[idx(i) + 1]; ++a, ++length)
        reach += p_->weight[idx(p_->arcs[idx(a)].edge)];
      for (int q = p_->entry_start[idx(i)]; q < p_->entry_start[idx(i) + 1]; ++q, ++length)
        reach += p_->subset_cost[idx(p_->entries[idx(q)].subset)];
      magnitude += std::abs(*low) + std::min(*high - *low, reach);
      longest = std::max(longest, length);
    }
    for (const double weight : p_->weight) magnitude += weight;
    for (const double cost : p_->subset_cost) magnitude += cost;
    margin_ = std::numeric_limits<double>::epsilon() * (8.0 + longest + 2.0 * p_->n_nodes) * magnitude;
  }

  struct Excess {
    double sum = 0.0, count = 0.0;
  };

  // Sum and number of the values' parts above t; lane-wise, so that compilers vectorize it as it stands.
  static Excess excess(const double* values, int n, double t) {
    double sums[kLanes] = {}, counts[kLanes] = {};
    const auto add = [&](int lane, double part) {
      sums[lane] += part > 0.0 ? part : 0.0;
      counts[lane] += part > 0.0 ? 1.0 : 0.0;
    };
    int k = 0;
    for (; k + kLanes <= n; k += kLanes)
      for (int lane = 0; lane < kLanes; ++lane) add(lane, values[k + lane] - t);
    for (; k < n; ++k) add(0, values[k] - t);
    return {(sums[0] + sums[1]) + (sums[2] + sums[3]), (counts[0] + counts[1]) + (counts[2] + counts[3])};
  }

  // The level above which the values' parts sum to `total`, by Newton's method: the sum is convex in the level, so
  // after the first step the level only rises and values only drop out; when none does, it is exact. It ends whatever
  // the rounding: from the second step on it goes on only while the count, an integer, falls.
  static double level(const double* values, int n, double total, double guess) {
    double t = guess, before = -1.0;
    for (int round = 0;; ++round) {
      const Excess above = excess(values, n, t);
      if (above.count == before || (round > 1 && above.count > before)) return t;
      if (above.count > 0.0)
        t += (above.sum - total) / above.count;
      else if (round == 0)
        t = *std::max_element(values, values + n) - total;
      else
        return t;
      before = above.count;
    }
  }

  // One round of the method over all nodes, edges, and subsets. Returns the bound by the flows and shares that it met.
  double sweep() {
    double bound = 0.0;
    for (int i = 0; i < p_->n_nodes; ++i) {
      if (watch_ != nullptr) watch_->expired(stride_ * (4 + p_->arc_start[idx(i) + 1] - p_->arc_start[idx(i)]));
      collect_belief(i);
      const double low = *std::min_element(belief_.begin(), belief_.begin() + p_->n_labels);
      bound += low;
      step_node(i, low);
      // Both ends of the edges to lower nodes are done now, while their flows are still in the cache.
      for (int a = p_->arc_start[idx(i)]; a < p_->arc_start[idx(i) + 1] && p_->arcs[idx(a)].head < i; ++a)
        step_flow(p_->arcs[idx(a)].edge);
      for (int q = p_->entry_start[idx(i)]; q < p_->entry_start[idx(i) + 1]; ++q) {
        const auto& entry = p_->entries[idx(q)];
        share_[idx(entry.slot)] += share_step_[idx(entry.subset)] * ahead_[idx(i) * idx(stride_) + idx(entry.label)];
      }
    }
    for (int s = 0; s < p_->n_subsets; ++s) limit_shares(s);
    return bound;
  }

  void collect_belief(int i) {
    std::copy_n(&unary_[idx(i) * idx(stride_)], stride_, belief_.begin());
    for (int a = p_->arc_start[idx(i)]; a < p_->arc_start[idx(i) + 1]; ++a) {
      const auto& arc = p_->arcs[idx(a)];
      const double* flow = &flow_[idx(arc.edge) * idx(stride_)];
      const double sign = arc.head > i ? 1.0 : -1.0;
      for (int k = 0; k < stride_; ++k) belief_[idx(k)] += sign * flow[k];
    }
    for (int q = p_->entry_start[idx(i)]; q < p_->entry_start[idx(i) + 1]; ++q)
      belief_[idx(p_->entries[idx(q)].label)] += share_[idx(p_->entries[idx(q)].slot)];
  }

  // Against the belief, then back to the simplex; flows and shares are to see the point as far again ahead. A constant
  // within the belief is lost in the projection, but without it large steps keep their digits.
  void step_node(int i, double low) {
    double *x = &relaxed_[idx(i) * idx(stride_)], *ahead = &ahead_[idx(i) * idx(stride_)];
    double* moved = belief_.data();
    for (int k = 0; k < stride_; ++k) moved[k] = x[k] - node_step_[idx(i)] * (moved[k] - low);
    const double t = level(moved, stride_, 1.0, node_level_[idx(i)]);
    node_level_[idx(i)] = t;
    for (int k = 0; k < stride_; ++k) {
      const double value = moved[k] > t ? moved[k] - t : 0.0;
      ahead[k] = 2.0 * value - x[k];
      x[k] = value;
    }
  }

  void step_flow(int e) {
    const double* tail = &ahead_[idx(p_->tail[idx(e)]) * idx(stride_)];
    const double* head = &ahead_[idx(p_->head[idx(e)]) * idx(stride_)];
    double* flow = &flow_[idx(e) * idx(stride_)];
    const double limit = 0.5 * p_->weight[idx(e)];  // also the step
    for (int k = 0; k < stride_; ++k) {
      const double value = flow[k] + limit * (tail[k] - head[k]);
      const double raised = value < -limit ? -limit : value;
      flow[k] = raised > limit ? limit : raised;
    }
  }

  // Project the shares of a subset to what is allowed.
  void limit_shares(int s) {
    const int n = p_->subset_start[idx(s) + 1] - p_->subset_start[idx(s)];
    const double cost = p_->subset_cost[idx(s)];
    double* share = &share_[idx(p_->subset_start[idx(s)])];
    double t = 0.0;
    if (excess(share, n, 0.0).sum > cost) t = std::max(0.0, level(share, n, cost, subset_level_[idx(s)]));
    subset_level_[idx(s)] = t;
    for (int m = 0; m < n; ++m) share[m] = share[m] > t ? share[m] - t : 0.0;
    const double sum = excess(share, n, 0.0).sum;
    if (sum > cost)  // by rounding, but a bound has to be one
      for (int m = 0; m < n; ++m) share[m] *= cost / sum;
  }

  // The value of the relaxation at x: no flows and shares give a higher bound.
  double relaxed_value() const {
    double value = 0.0;
    const auto x = [this](int node, int label) { return relaxed_[idx(node) * idx(stride_) + idx(label)]; };
    for (int i = 0; i < p_->n_nodes; ++i)
      for (int k = 0; k < p_->n_labels; ++k) value += p_->cost(i, k) * x(i, k);
    for (int e = 0; e < p_->n_edges; ++e)
      for (int k = 0; k < p_->n_labels; ++k)
        value += 0.5 * p_->weight[idx(e)] * std::abs(x(p_->tail[idx(e)], k) - x(p_->head[idx(e)], k));
    for (int s = 0; s < p_->n_subsets; ++s) {
      double most = 0.0;
      for (int slot = p_->subset_start[idx(s)]; slot < p_->subset_start[idx(s) + 1]; ++slot)
        most = std::max(most, x(p_->member[idx(slot)], p_->subset_label[idx(s)]));
      value += p_->subset_cost[idx(s)] * most;
    }
    return value;
  }

  const Problem* p_ = nullptr;
  Watch* watch_ = nullptr;
  int stride_ = 0;
  double margin_ = 0.0;
  std::vector<double> unary_, relaxed_, ahead_;  // [V, stride]
  std::vector<double> flow_;                     // [E, stride]: what the tail's belief gains and the head's loses
  std::vector<double> share_;                    // of each slot
  std::vector<double> node_step_, share_step_, node_level_, subset_level_, belief_;
};

}  // namespace multiutility
