// The solver: message passing finds a start and its dual, expansion moves descend from there, and labels in use are put
// to the test one by one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "bound.hpp"
#include "energy.hpp"
#include "expansion.hpp"
#include "local.hpp"
#include "messages.hpp"
#include "problem.hpp"
#include "watch.hpp"

namespace multiutility {

struct Outcome {
  std::vector<std::int32_t> labels;
  double energy = 0.0;
  double bound = -std::numeric_limits<double>::infinity();  // certified, if asked for
  std::int64_t moves = 0, flows = 0;
  bool timed_out = false;  // the best that was found until the limit
};

class Search {
 public:
  Search() {
    messages_.set_watch(&watch_);
    local_.set_watch(&watch_);
    expansion_.set_watch(&watch_);
    bound_.set_watch(&watch_);
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  void on_interrupt(std::function<bool()> interrupted) { watch_.on_interrupt(std::move(interrupted)); }

  // `start`, if given, must be allowed; the outcome is never worse. `effort` is the work for the test of labels, as a
  // multiple of the work of the descent before; without any, no other orders of labels are tried. After `seconds` the
  // best so far is the outcome.
  Outcome minimize(const EnergyView& energy, const std::int32_t* start, int passes, double effort, bool bound,
                   double seconds = std::numeric_limits<double>::infinity()) {
    watch_.start(seconds);
    load(energy);
    choose_start(start, problem_.n_edges > 0 && !few_seeds_ ? passes : 0);
    if (has_flow_)
      expansion_.start(best_, &flow_, &messages_.shares());
    else
      expansion_.start(best_);
    descend();
    if (!second_.empty() && expansion_.energy() >= best_energy_) descend_again();
    if (effort > 0.0 && problem_.n_subsets > 0) {
      test_labels(effort);
      if (is_held_by_start() && descend_in_other_orders()) test_labels(effort);
    }
    Outcome result = outcome(energy);
    if (bound) {
      const double lower = bound_.lower(problem_, problem_.cost_of(expansion_.energy()) / problem_.factor);
      result.bound = std::min(result.energy, energy.offset + lower);
    }
    result.timed_out = watch_.expired();
    return result;
  }

  // Plain expansion moves in the given order of labels, from `start`; the energy after each is appended to `trace`.
  Outcome moves(const EnergyView& energy, const std::int32_t* start, const std::vector<int>& order,
                std::vector<double>& trace) {
    watch_.start();
    load(energy);
    compile_labels(start);
    expansion_.start(candidate_);
    for (const int label : order) {
      if (problem_.label_index[idx(label)] >= 0) expansion_.expand(problem_.label_index[idx(label)]);
      trace.push_back(problem_.cost_of(expansion_.energy()) / problem_.factor + energy.offset);
    }
    return outcome(energy);
  }

 private:
  // Where the descent had next to nothing to do, tests are cheap too, and this many steps for each node are granted.
  static constexpr int kLeastSteps = 40;
  static constexpr double kWorthwhile = 0.2, kHalf = 0.5;
  static constexpr int kFewSeeds = 100;  // one node in so many

  void load(const EnergyView& energy) {
    problem_.compile(energy);
    few_seeds_ = has_few_seeds();
    expansion_.load(problem_, few_seeds_ ? 0 : -1);
    local_.load(problem_);
    candidate_.assign(idx(problem_.n_nodes), 0);
    best_energy_ = std::numeric_limits<Units>::max();
    best_.clear();
    second_.clear();
    has_flow_ = false;
    lower_ = -std::numeric_limits<double>::infinity();
  }

  void compile_labels(const std::int32_t* labels) {
    for (int i = 0; i < problem_.n_nodes; ++i)
      candidate_[idx(i)] = problem_.label_index[idx(labels[problem_.order[idx(i)]])];
  }

  // The first offer is always taken, since no energy reaches the largest integer.
  void offer(Units energy) {
    if (energy >= best_energy_) return;
    best_energy_ = energy;
    best_ = candidate_;
  }

  void offer() { offer(problem_.evaluate(candidate_)); }

  // Whether only a few nodes prefer any label. From these, messages take as many passes as the graph is wide to tell
  // others of it, and until then they say nothing; excess has a long way to go for sure.
  bool has_few_seeds() const {
    std::int64_t seeds = 0;
    for (int i = 0; i < problem_.n_nodes; ++i) {
      const double* unary = &problem_.unary[idx(i) * idx(problem_.n_labels)];
      seeds += std::any_of(unary, unary + problem_.n_labels, [&](double cost) { return cost != unary[0]; });
    }
    return seeds * kFewSeeds < problem_.n_nodes;
  }

  void choose_start(const std::int32_t* start, int passes) {
    if (passes > 0)
      offer_roundings(passes);
    else
      offer_cheapest_labels();
    local_.set(best_, best_energy_);
    local_.descend(2);
    if (problem_.n_subsets > 0) local_.drop_labels();
    candidate_ = local_.labels();
    offer(local_.energy());
    offer_single_labels();
    if (start == nullptr) return;
    compile_labels(start);
    offer();
  }

  // Passes go on while they close the gap between bound and energy; the last one also gives the flows to begin with.
  void offer_roundings(int passes) {
    messages_.load(problem_);
    flow_.resize(idx(problem_.n_labels) * idx(problem_.n_edges));
    for (bool last = passes == 1;; last = last || --passes == 1) {
      messages_.pass(true, nullptr, nullptr);
      const double raised = messages_.pass(false, &candidate_, last ? &flow_ : nullptr);
      offer();
      has_flow_ = last;
      const double rise = raised - lower_;
      lower_ = raised;
      if (last || watch_.expired()) return;
      last = rise < kWorthwhile * (problem_.cost_of(best_energy_) - raised);
    }
  }

  void offer_cheapest_labels() {
    for (int i = 0; i < problem_.n_nodes; ++i) {
      const double* unary = &problem_.unary[idx(i) * idx(problem_.n_labels)];
      candidate_[idx(i)] = static_cast<int>(std::min_element(unary, unary + problem_.n_labels) - unary);
    }
    offer();
  }

  // One label for all nodes: the best start where costs of labels or edges outweigh everything else.
  void offer_single_labels() {
    total_.assign(idx(problem_.n_labels), 0);
    for (int i = 0; i < problem_.n_nodes; ++i)
      for (int k = 0; k < problem_.n_labels; ++k) total_[idx(k)] += problem_.units(problem_.cost(i, k));
    for (int s = 0; s < problem_.n_subsets; ++s)
      total_[idx(problem_.subset_label[idx(s)])] += problem_.units(problem_.subset_cost[idx(s)]);
    order_.resize(total_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [this](int a, int b) { return total_[idx(a)] < total_[idx(b)]; });
    if (total_[idx(order_[0])] >= best_energy_) return;
    second_ = best_;
    std::fill(candidate_.begin(), candidate_.end(), order_[0]);
    offer();
  }

  // Labels that are cheap for all nodes together go first: what they take, others need not fight over. Ends because
  // every move that counts lowers the energy, an integer that is a function of the labels.
  void descend() {
    int failed = 0;
    for (int n = 0; failed < problem_.n_labels && !watch_.expired(1); n = (n + 1) % problem_.n_labels)
      failed = expansion_.expand(order_[idx(n)]) ? 0 : failed + 1;
  }

  // One label for all nodes was the best start, and may be a trap: no single move leads out of it. Begin elsewhere, and
  // go back if that ends no lower.
  void descend_again() {
    kept_ = expansion_.labels();
    const Units before = expansion_.energy();
    expansion_.assign(changes_to(second_));
    descend();
    if (expansion_.energy() >= before) expansion_.assign(changes_to(kept_));
  }

  // Whether one label for all nodes was the best start, and less than half of the way from there to the bound has been
  // gone since.
  bool is_held_by_start() const {
    if (second_.empty()) return false;
    const double now = problem_.cost_of(expansion_.energy());
    return problem_.cost_of(best_energy_) - now < kHalf * (problem_.cost_of(best_energy_) - lower_);
  }

  // Where one label for all nodes was the best start, edges are so strong that the cheapest label, which goes first,
  // takes nearly all nodes, and others cannot come back one by one. Let it go last, then let the dearest go first;
  // labels stay as they are unless that ends lower. True if it does.
  bool descend_in_other_orders() {
    const Units before = expansion_.energy();
    usual_ = order_;
    std::rotate(order_.begin(), order_.begin() + 1, order_.end());
    descend_again();
    order_.assign(usual_.rbegin(), usual_.rend());
    descend_again();
    order_ = usual_;
    return expansion_.energy() < before;
  }

  // Expansion can merge a label into one other label; here all nodes of a label look for new ones of their own, labels
  // not in use among them. Labels whose loss looks cheapest come first, until the work is up; it goes on only while the
  // energy, an integer, has fallen.
  void test_labels(double effort) {
    const double done = static_cast<double>(expansion_.work());
    limit_ = done + effort * std::max(done, static_cast<double>(kLeastSteps * problem_.n_nodes));
    for (bool again = true; again;) {
      again = false;
      kept_ = expansion_.labels();
      const Units before = expansion_.energy();
      rank_labels(before);
      for (std::size_t t = 0; t < ranked_.size() && !again && has_time(); ++t) again = test(ranked_[t].second, before);
    }
  }

  bool has_time() { return static_cast<double>(expansion_.work()) < limit_ && !watch_.expired(1); }

  void rank_labels(Units energy) {
    ranked_.clear();
    local_.set(kept_, energy);
    for (int label = 0; label < problem_.n_labels; ++label)
      if (local_.count(label) > 0 && local_.count(label) < problem_.n_nodes)
        ranked_.push_back({local_.energy_without(label), label});
    std::sort(ranked_.begin(), ranked_.end());
  }

  bool test(int label, Units before) {
    local_.vacate(label);
    expansion_.assign(changes_to(local_.labels()));
    for (bool changed = true; changed;) {  // ends as descend() does
      changed = false;
      for (int k = 0; k < problem_.n_labels && has_time(); ++k)
        if (k != label) changed |= expansion_.expand(k);
    }
    if (expansion_.energy() < before - problem_.units(1e-9 * problem_.scale)) {
      descend();
      return true;
    }
    expansion_.assign(changes_to(kept_));
    local_.take_back(before);
    return false;
  }

  const std::vector<Expansion::Change>& changes_to(const std::vector<int>& labels) {
    changes_.clear();
    for (int i = 0; i < problem_.n_nodes; ++i)
      if (expansion_.labels()[idx(i)] != labels[idx(i)]) changes_.push_back({i, labels[idx(i)]});
    return changes_;
  }

  Outcome outcome(const EnergyView& energy) const {
    Outcome result;
    result.labels.resize(idx(problem_.n_nodes));
    for (int i = 0; i < problem_.n_nodes; ++i)
      result.labels[idx(problem_.order[idx(i)])] = problem_.label_of[idx(expansion_.labels()[idx(i)])];
    result.energy = evaluate(energy, result.labels.data());
    result.moves = expansion_.n_moves();
    result.flows = expansion_.n_flows();
    return result;
  }

  Watch watch_;
  Problem problem_;
  Messages<float> messages_;
  Local local_;
  Expansion expansion_;
  Bound bound_;
  Units best_energy_ = 0;
  double limit_ = 0.0;
  double lower_ = 0.0;  // bound of the last message pass
  bool has_flow_ = false, few_seeds_ = false;
  std::vector<int> candidate_, best_, second_, kept_, order_, usual_;
  std::vector<double> flow_;
  std::vector<Units> total_;
  std::vector<std::pair<Units, int>> ranked_;
  std::vector<Expansion::Change> changes_;
};

}  // namespace multiutility
