#include "lib/Planner/Fitting/Fit.h"

#include <algorithm>
#include <cmath>

namespace st {

FitErrors compareWithRows(const std::vector<double> &predicted,
                          const std::vector<double> &measured) {
  FitErrors errors;
  for (size_t i = 0; i < measured.size(); ++i) {
    const double error = std::fabs(predicted[i] / measured[i] - 1);
    errors.mean += error / static_cast<double>(measured.size());
    if (error > errors.worst) {
      errors.worst = error;
      errors.worstRow = i;
    }
  }
  double agree = 0, pairs = 0;
  for (size_t i = 0; i < measured.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const double product = (predicted[i] - predicted[j]) * (measured[i] - measured[j]);
      agree += product > 0 ? 1 : product < 0 ? -1 : 0;
      pairs += 1;
    }
  errors.tau = pairs > 0 ? agree / pairs : 0;
  return errors;
}

namespace {

/// A vertex of the simplex: logarithms of the constants, and their error.
struct Vertex {
  std::vector<double> at;
  double cost = 0;
};

template <typename F> Vertex minimise(std::vector<double> start, F &&cost, int steps) {
  const size_t n = start.size();
  std::vector<Vertex> simplex;
  for (size_t i = 0; i <= n; ++i) {
    std::vector<double> at = start;
    if (i < n)
      at[i] += 0.2;
    simplex.push_back({at, cost(at)});
  }
  auto blend = [&](const std::vector<double> &centre, const std::vector<double> &worst, double by) {
    std::vector<double> at(n);
    for (size_t i = 0; i < n; ++i)
      at[i] = centre[i] + by * (worst[i] - centre[i]);
    return Vertex{at, cost(at)};
  };
  for (int step = 0; step < steps; ++step) {
    std::sort(simplex.begin(), simplex.end(),
              [](const Vertex &a, const Vertex &b) { return a.cost < b.cost; });
    if (simplex.back().cost - simplex.front().cost < 1e-7)
      break;
    std::vector<double> centre(n, 0.0);
    for (size_t v = 0; v < n; ++v)
      for (size_t i = 0; i < n; ++i)
        centre[i] += simplex[v].at[i] / static_cast<double>(n);
    Vertex reflected = blend(centre, simplex.back().at, -1);
    if (reflected.cost < simplex.front().cost) {
      Vertex further = blend(centre, simplex.back().at, -2);
      simplex.back() = further.cost < reflected.cost ? further : reflected;
    } else if (reflected.cost < simplex[n - 1].cost) {
      simplex.back() = reflected;
    } else {
      Vertex nearer = blend(centre, simplex.back().at, 0.5);
      if (nearer.cost < simplex.back().cost)
        simplex.back() = nearer;
      else
        for (size_t v = 1; v <= n; ++v)
          simplex[v] = blend(simplex.front().at, simplex[v].at, 0.5);
    }
  }
  return *std::min_element(simplex.begin(), simplex.end(),
                           [](const Vertex &a, const Vertex &b) { return a.cost < b.cost; });
}

} // namespace

absl::StatusOr<GpuConstants> fitConstants(const PredictContext &context,
                                          const std::vector<MeasuredRow> &rows,
                                          const std::vector<std::string> &names,
                                          GpuConstants start) {
  absl::Status failed;
  auto constantsAt = [&](const std::vector<double> &at) {
    GpuConstants constants = start;
    for (size_t i = 0; i < names.size(); ++i)
      *findConstant(constants, names[i]) = std::exp(at[i]);
    return constants;
  };
  auto cost = [&](const std::vector<double> &at) {
    const GpuConstants constants = constantsAt(at);
    double sum = 0, count = 0;
    for (const MeasuredRow &row : rows) {
      if (!row.measuredMs)
        continue;
      absl::StatusOr<StepEstimate> step = predictRow(context, constants, row);
      if (!step.ok()) {
        failed = step.status();
        return 1e9;
      }
      sum += std::fabs(std::log(step->ms / *row.measuredMs));
      count += 1;
    }
    // No efficiency may exceed 1.
    double penalty = 0;
    for (const std::string &name : names)
      if (absl::string_view(name).find("efficiency") != absl::string_view::npos) {
        GpuConstants copy = constants;
        penalty += std::max(0.0, *findConstant(copy, name) - 1) * 10;
      }
    return sum / std::max(count, 1.0) + penalty;
  };
  std::vector<double> at;
  for (const std::string &name : names)
    at.push_back(std::log(*findConstant(start, name)));
  constexpr int kSteps = 400;
  const Vertex best = minimise(at, cost, kSteps);
  if (!failed.ok())
    return failed;
  return constantsAt(best.at);
}

} // namespace st
