// Regions of an image: basins of a map, parts that join their neighbors, and borders.
// vision/regions/reference.py has the same in NumPy, and says why it is right; results are equal, also where values
// tie. Maps are stored row by row; regions have the labels 0..V-1.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace multiutility {

using Label = std::int32_t;
using Pair = std::array<Label, 2>;

struct MapSize {
  std::int32_t height, width;
  std::int32_t pixels() const { return height * width; }
};

inline std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// Groups of things that are joined two by two.
class Groups {
 public:
  explicit Groups(std::int32_t n) : parent_(at(n)) { std::iota(parent_.begin(), parent_.end(), 0); }

  Label find(Label i) {
    while (parent_[at(i)] != i) i = parent_[at(i)] = parent_[at(parent_[at(i)])];
    return i;
  }

  // The least member stays the root: groups are in the order of their first members.
  void join(Label i, Label j) {
    i = find(i);
    j = find(j);
    parent_[at(std::max(i, j))] = std::min(i, j);
  }

  // The same for i that was joined to nothing yet, and j < i.
  void attach(Label i, Label j) { parent_[at(i)] = parent_[at(j)]; }

  // The number of each one's group, and how many groups there are.
  std::pair<std::vector<Label>, Label> numbers() {
    std::vector<Label> number(parent_.size());
    Label n = 0;
    for (Label i = 0; at(i) < number.size(); ++i) {
      const Label root = find(i);
      number[at(i)] = root == i ? n++ : number[at(root)];
    }
    return {std::move(number), n};
  }

 private:
  std::vector<Label> parent_;
};

// Visits all pairs of neighbors: those side by side, row by row, then those one above the other.
template <class Visit>
void for_neighbors(MapSize size, Visit&& visit) {
  const std::int32_t n = size.pixels();
  for (std::int32_t row = 0; row < n; row += size.width)
    for (std::int32_t p = row; p + 1 < row + size.width; ++p) visit(p, p + 1);
  for (std::int32_t p = 0; p + size.width < n; ++p) visit(p, p + size.width);
}

// A map within a frame of infinity, where all pixels have four neighbors.
class Framed {
 public:
  Framed(const float* map, MapSize size)
      : stride_(size.width + 2),
        values_(static_cast<std::size_t>(stride_ * (size.height + 2)), std::numeric_limits<float>::infinity()) {
    for (std::int32_t y = 0; y < size.height; ++y)
      std::copy_n(map + static_cast<std::ptrdiff_t>(y) * size.width, size.width,
                  values_.data() + (y + 1) * stride_ + 1);
  }

  // A row of pixels, and those above and below; also [-1] and [width] of it may be read.
  struct Row {
    const float *up, *own, *down;
    float low(std::int32_t x) const { return std::min(std::min(up[x], own[x - 1]), std::min(own[x + 1], down[x])); }
    int n_low(std::int32_t x, float low) const {
      return (up[x] == low) + (own[x - 1] == low) + (own[x + 1] == low) + (down[x] == low);
    }
  };
  Row row(std::int32_t y) const {
    const float* own = values_.data() + (y + 1) * stride_ + 1;
    return {own - stride_, own, own + stride_};
  }

 private:
  std::ptrdiff_t stride_;
  std::vector<float> values_;
};

// Sends each pixel of a row towards the first of its lowest neighbors, or to itself if none is lower. Returns whether
// there are ties: pixels with several lowest neighbors, or with one as low as themselves. Without branches, as no
// processor could guess them.
inline bool send_down(const Framed::Row& row, std::int32_t first, std::int32_t width, Label* towards) {
  int ties = 0;
  for (std::int32_t x = 0; x < width; ++x) {
    const float low = row.low(x);
    std::int32_t step = width;
    step = row.own[x + 1] == low ? 1 : step;
    step = row.own[x - 1] == low ? -1 : step;
    step = row.up[x] == low ? -width : step;
    step = low < row.own[x] ? step : 0;
    towards[x] = first + x + step;
    ties |= (row.n_low(x, low) > 1) & (low < row.own[x]);
    ties |= low == row.own[x];
  }
  return ties != 0;
}

// Lets all pixels of a flat bottom drain to the first of them.
inline void join_bottoms(const float* surface, MapSize size, float bottom, std::vector<Label>& towards) {
  Groups groups(size.pixels());
  for_neighbors(size, [&](std::int32_t p, std::int32_t q) {
    if (surface[p] == bottom && surface[q] == bottom) groups.join(p, q);
  });
  for (std::int32_t p = 0; p < size.pixels(); ++p)
    if (surface[p] == bottom) towards[at(p)] = groups.find(p);
}

// Follows all pixels down to their minimum: again and again to where the next one is going by now, in both directions,
// as ways down lead through pixels before and after.
inline void follow(std::vector<Label>& towards) {
  const Label n = static_cast<Label>(towards.size());
  const auto step = [&](Label p) {
    const Label further = towards[at(towards[at(p)])];
    return further ^ std::exchange(towards[at(p)], further);
  };
  for (Label changed = 1; changed != 0;) {
    changed = 0;
    for (Label p = 0; p < n; ++p) changed |= step(p);
    for (Label p = n; p-- > 0;) changed |= step(p);
  }
}

// Whether the lowest neighbors of a pixel all drain to where it drains.
inline bool agrees(const Framed::Row& row, std::int32_t x, std::int32_t width, const Label* towards) {
  const float low = row.low(x);
  return (row.up[x] != low || towards[-width] == *towards) && (row.own[x - 1] != low || towards[-1] == *towards) &&
         (row.own[x + 1] != low || towards[1] == *towards) && (row.down[x] != low || towards[width] == *towards);
}

// The minimum that each pixel drains to; nothing if that depends on a queue.
inline std::vector<Label> drained(const float* surface, MapSize size) {
  const std::int32_t width = size.width;
  const Framed framed(surface, size);
  std::vector<Label> towards(at(size.pixels())), tied, level;
  for (std::int32_t y = 0; y < size.height; ++y) {
    const Framed::Row row = framed.row(y);
    if (!send_down(row, y * width, width, towards.data() + y * width)) continue;
    for (std::int32_t x = 0; x < width; ++x) {
      const float low = row.low(x);
      if (low == row.own[x]) level.push_back(y * width + x);
      if (low < row.own[x] && row.n_low(x, low) > 1) tied.push_back(y * width + x);
    }
  }
  if (!level.empty()) {
    const float bottom = *std::min_element(surface, surface + size.pixels());
    for (const std::int32_t p : level)
      if (surface[p] > bottom) return {};
    join_bottoms(surface, size, bottom, towards);
  }
  follow(towards);
  for (const std::int32_t p : tied)
    if (!agrees(framed.row(p / width), p % width, width, towards.data() + p)) return {};
  return towards;
}

// Regions with new names, counted in the order of their first pixels; names are below n_names.
inline std::vector<Label> renumbered(const Label* regions, MapSize size, const std::vector<Label>& names,
                                     Label n_names) {
  std::vector<Label> rank(at(n_names), -1), found(at(size.pixels()));
  Label next = 0;
  for (std::int32_t p = 0; p < size.pixels(); ++p) {
    Label& own = rank[at(names[at(regions[p])])];
    if (own < 0) own = next++;
    found[at(p)] = own;
  }
  return found;
}

// Sorted unique pairs (i < j), and the place of each given pair among them.
struct UniquePairs {
  // Of numbers below n. Pairs are put in order by their smaller number; the other one is looked up among those that
  // were seen with it.
  UniquePairs(const std::vector<Pair>& given, Label n) : owner(given.size()) {
    struct Entry {
      Label other;
      std::int32_t place;
    };
    std::vector<std::int32_t> starts(at(n) + 1);
    for (const Pair& pair : given) ++starts[at(std::min(pair[0], pair[1])) + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<std::int32_t> next(starts.begin(), starts.end() - 1), edge_of(at(n));
    std::vector<Entry> entries(given.size());
    for (std::int32_t k = 0; at(k) < given.size(); ++k) {
      const auto [i, j] = std::minmax(given[at(k)][0], given[at(k)][1]);
      entries[at(next[at(i)]++)] = {j, k};
    }
    std::vector<Label> seen;
    for (Label i = 0; i < n; ++i) {
      seen.clear();
      for (std::int32_t e = starts[at(i)]; e < starts[at(i) + 1]; ++e)
        if (std::exchange(edge_of[at(entries[at(e)].other)], -1 - i) != -1 - i) seen.push_back(entries[at(e)].other);
      std::sort(seen.begin(), seen.end());
      for (const Label j : seen) {
        edge_of[at(j)] = static_cast<std::int32_t>(edges.size());
        edges.push_back({i, j});
      }
      for (std::int32_t e = starts[at(i)]; e < starts[at(i) + 1]; ++e)
        owner[at(entries[at(e)].place)] = edge_of[at(entries[at(e)].other)];
    }
  }

  std::vector<Pair> edges;
  std::vector<std::int32_t> owner;
};

// Pairs of pixels across the borders of regions, and the edge of each.
struct Crossings {
  Crossings(const Label* regions, MapSize size, Label n_regions)
      : pixels(crossing(regions, size)), pairs(labels(regions, pixels), n_regions) {}

  std::vector<Pair> pixels;
  UniquePairs pairs;

 private:
  static std::vector<Pair> crossing(const Label* regions, MapSize size) {
    std::vector<Pair> found;
    std::vector<std::int32_t> some(at(size.width));
    const auto append = [&](std::int32_t first, std::int32_t n_pixels, std::int32_t step) {
      // Without branches, as no processor could guess them.
      std::size_t n = 0;
      for (std::int32_t p = first; p < first + n_pixels; ++p) {
        some[n] = p;
        n += regions[p] != regions[p + step];
      }
      for (std::size_t k = 0; k < n; ++k) found.push_back({some[k], some[k] + step});
    };
    for (std::int32_t y = 0; y < size.height; ++y) append(y * size.width, size.width - 1, 1);
    for (std::int32_t y = 0; y + 1 < size.height; ++y) append(y * size.width, size.width, size.width);
    return found;
  }
  static std::vector<Pair> labels(const Label* regions, const std::vector<Pair>& pixels) {
    std::vector<Pair> found;
    found.reserve(pixels.size());
    for (const Pair& pair : pixels) found.push_back({regions[pair[0]], regions[pair[1]]});
    return found;
  }
};

// Regions that merge: sizes [V], edges [E], sum of a map along each border and its length [E].
struct RegionGraph {
  std::vector<std::int64_t> sizes;
  std::vector<Pair> edges;
  std::vector<double> totals;
  std::vector<std::int64_t> lengths;

  Label n_regions() const { return static_cast<Label>(sizes.size()); }

  // With totals of zero if there is no map.
  static RegionGraph of(const Label* regions, MapSize size, Label n_regions, const float* map) {
    Crossings found(regions, size, n_regions);
    RegionGraph graph{std::vector<std::int64_t>(at(n_regions)), std::move(found.pairs.edges), {}, {}};
    for (std::int32_t p = 0; p < size.pixels(); ++p) ++graph.sizes[at(regions[p])];
    graph.totals.resize(graph.edges.size());
    graph.lengths.resize(graph.edges.size());
    for (std::size_t k = 0; k < found.pixels.size(); ++k) {
      const std::size_t e = at(found.pairs.owner[k]);
      ++graph.lengths[e];
      if (map != nullptr)
        graph.totals[e] += (static_cast<double>(map[found.pixels[k][0]]) + map[found.pixels[k][1]]) / 2;
    }
    return graph;
  }

  // Of the groups that each region is now in.
  RegionGraph merged(const std::vector<Label>& groups, Label n_groups) const {
    std::vector<Pair> ends;
    std::vector<std::size_t> outer;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const Pair pair{groups[at(edges[e][0])], groups[at(edges[e][1])]};
      if (pair[0] == pair[1]) continue;
      ends.push_back(pair);
      outer.push_back(e);
    }
    UniquePairs pairs(ends, n_groups);
    RegionGraph graph{std::vector<std::int64_t>(at(n_groups)), std::move(pairs.edges), {}, {}};
    for (std::size_t v = 0; v < sizes.size(); ++v) graph.sizes[at(groups[v])] += sizes[v];
    graph.totals.resize(graph.edges.size());
    graph.lengths.resize(graph.edges.size());
    for (std::size_t k = 0; k < outer.size(); ++k) {
      graph.totals[at(pairs.owner[k])] += totals[outer[k]];
      graph.lengths[at(pairs.owner[k])] += lengths[outer[k]];
    }
    return graph;
  }

  // Mean along each border, times the smaller region's size to the power.
  std::vector<double> strengths(double power) const {
    std::vector<double> found(edges.size());
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const double smaller = static_cast<double>(std::min(sizes[at(edges[e][0])], sizes[at(edges[e][1])]));
      // As NumPy does, to the last bit.
      const double factor = power == 0.5 ? std::sqrt(smaller) : std::pow(smaller, power);
      found[e] = totals[e] / static_cast<double>(lengths[e]) * factor;
    }
    return found;
  }

  // The neighbor of each region at the least distance; of equals, the first edge's; -1 for none.
  std::vector<Label> nearest(const std::vector<double>& distances) const {
    std::vector<double> least(sizes.size(), std::numeric_limits<double>::infinity());
    std::vector<Label> found(sizes.size(), -1);
    for (std::size_t e = 0; e < edges.size(); ++e)
      for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
        const std::size_t own = at(edges[e][end]);
        if (!(distances[e] < least[own])) continue;
        least[own] = distances[e];
        found[own] = edges[e][1 - end];
      }
    return found;
  }
};

// The 4-connected parts of labels, in the order of their first pixels; and how many there are.
inline std::pair<std::vector<Label>, Label> parts_of(const Label* labels, MapSize size) {
  const std::int32_t width = size.width;
  Groups groups(size.pixels());
  for (std::int32_t p = 0, x = 0; p < size.pixels(); ++p, x = x + 1 < width ? x + 1 : 0) {
    const bool left = x > 0 && labels[p - 1] == labels[p], up = p >= width && labels[p - width] == labels[p];
    if (left) groups.attach(p, p - 1);
    // With the same label above to the left, the left one is joined with the one above already.
    if (up && !(left && labels[p - width - 1] == labels[p])) groups.join(p, p - width);
  }
  return groups.numbers();
}

// Joins each region below the size to the neighbor with the longest common border; returns the new groups.
inline std::pair<std::vector<Label>, Label> join_small(const RegionGraph& graph, std::int64_t min_size) {
  std::vector<double> distances;
  distances.reserve(graph.lengths.size());
  for (const std::int64_t length : graph.lengths) distances.push_back(-static_cast<double>(length));
  const std::vector<Label> target = graph.nearest(distances);
  Groups groups(graph.n_regions());
  for (Label v = 0; v < graph.n_regions(); ++v)
    if (graph.sizes[at(v)] < min_size) groups.join(v, target[at(v)]);
  return groups.numbers();
}

// Splits regions into 4-connected parts, and joins parts below the size to their closest neighbors.
inline std::vector<Label> connected(const Label* labels, MapSize size, std::int64_t min_size) {
  const auto [parts, n_parts] = parts_of(labels, size);
  RegionGraph graph = RegionGraph::of(parts.data(), size, n_parts, nullptr);
  std::vector<Label> names(at(n_parts));
  std::iota(names.begin(), names.end(), 0);
  while (graph.n_regions() > 1 && *std::min_element(graph.sizes.begin(), graph.sizes.end()) < min_size) {
    const auto [groups, n_groups] = join_small(graph, min_size);
    for (Label& name : names) name = groups[at(name)];
    graph = graph.merged(groups, n_groups);
  }
  return renumbered(parts.data(), size, names, graph.n_regions());
}

// A merge of two groups, each named by one of its regions.
struct Merge {
  Pair regions;
  double height;
};

// The lowest merges of the hierarchy, and perhaps more.
inline std::vector<Merge> merges(RegionGraph graph, std::int64_t n_merges, double power) {
  std::vector<Merge> found;
  std::vector<Label> names(graph.sizes.size());
  std::iota(names.begin(), names.end(), 0);
  while (!graph.edges.empty()) {
    const std::vector<double> strengths = graph.strengths(power);
    const double weakest = *std::min_element(strengths.begin(), strengths.end());
    if (std::count_if(found.begin(), found.end(), [&](const Merge& one) { return one.height <= weakest; }) >= n_merges)
      break;
    const std::vector<Label> target = graph.nearest(strengths);
    Groups pairs(graph.n_regions());
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
      const auto [i, j] = graph.edges[e];
      if (target[at(i)] != j || target[at(j)] != i) continue;
      found.push_back({{names[at(i)], names[at(j)]}, strengths[e]});
      pairs.join(i, j);
    }
    const auto [groups, n_groups] = pairs.numbers();
    Label kept = 0;
    for (std::size_t v = 0; v < groups.size(); ++v)
      if (groups[v] == kept) names[at(kept++)] = names[v];
    graph = graph.merged(groups, n_groups);
  }
  return found;
}

// Merges neighbors with the weakest common border until n_regions are left.
inline std::vector<Label> merge_regions(const Label* regions, const float* map, MapSize size, std::int64_t n_regions,
                                        double power) {
  const Label n = *std::max_element(regions, regions + size.pixels()) + 1;
  RegionGraph graph = RegionGraph::of(regions, size, n, map);
  const std::int64_t n_merges = std::max<std::int64_t>(0, n - n_regions);
  std::vector<Merge> found = merges(std::move(graph), n_merges, power);
  // Stable: of equally high merges, those that others build on come first.
  std::stable_sort(found.begin(), found.end(), [](const Merge& a, const Merge& b) { return a.height < b.height; });
  Groups groups(n);
  for (std::int64_t m = 0; m < std::min(n_merges, static_cast<std::int64_t>(found.size())); ++m) {
    const Pair& pair = found[static_cast<std::size_t>(m)].regions;
    groups.join(pair[0], pair[1]);
  }
  const auto [names, n_names] = groups.numbers();
  return renumbered(regions, size, names, n_names);
}

}  // namespace multiutility
