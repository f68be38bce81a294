// demand_error.cc - demand-error SIZES: error of demand that is predicted from past use, by the length of the
// interval. Prints one JSON object; the same arguments give the same bytes.
// Source: Pulsar 6.5 (Fig. 17).
//
// Sources of flows with the sizes of a shipped table, Poisson, each through a link of its own, whose load
// changes as often as in Pulsar's Fig. 2.
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "bench/sim/random.h"
#include "bench/sim/scenario_fields.h"
#include "bench/sim/tcp_source.h"
#include "ctrl/estimate/demand.h"

namespace {

using namespace weir;
using namespace weir::sim;

constexpr unsigned kSources = 20;
constexpr double kBin = 0.1;            // s
constexpr std::size_t kBins = 216'000;  // six hours
constexpr double kLink = 1.25e8;        // bytes/s
// How long a load lasts: 1.3 to 49 minutes (Fig. 2); how much it is, as the percentiles there are far apart.
constexpr double kShortest = 78;
constexpr double kLongest = 2940;
constexpr double kLeast = 0.01;
constexpr double kMost = 0.6;
constexpr std::array kIntervals{0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0};
/// The paper's: the same up and down.
constexpr estimate::Smoothing kEven{.up_held_back = 0.5, .up = 0.5, .down = 0.5};

double logarithmic(Random& random, double low, double high) {
    return low * std::pow(high / low, random.unit());
}

/// Bytes that a source sends in each bin.
std::vector<double> sent_by(const SizeTable& sizes, Random random) {
    std::vector<double> bins(kBins);
    double load = 0;
    double until = 0;
    double next = 0;
    double waiting = 0;
    for (std::size_t i = 0; i < kBins; ++i) {
        const double end = static_cast<double>(i + 1) * kBin;
        while (next < end) {
            if (next >= until) {
                load = logarithmic(random, kLeast, kMost);
                until = next + logarithmic(random, kShortest, kLongest);
            }
            waiting += size_at(sizes, random.unit());
            next += random.exponential(mean_size(sizes) / (load * kLink));
        }
        bins[i] = std::min(waiting, kBin * kLink);
        waiting -= bins[i];
    }
    return bins;
}

struct Error {
    double off = 0;
    double used = 0;
};

/// Adds up over one source's intervals.
void judge(const std::vector<double>& bins, std::size_t length, const estimate::Smoothing& smoothing,
           Error& error) {
    std::optional<double> demand;
    for (std::size_t i = 0; i + length <= bins.size(); i += length) {
        double used = 0;
        for (std::size_t k = i; k < i + length; ++k)
            used += bins[k];
        if (demand) {
            error.off += std::abs(*demand - used);
            error.used += used;
        }
        demand = estimate::smoothed_demand(demand, {.used = used}, estimate::kTokensMax, smoothing);
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::ifstream stream(argc > 1 ? argv[1] : "");
    const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    SizeTable sizes;
    std::string fault;
    if (argc != 2 || !parse_sizes(text, sizes, fault)) {
        std::cerr << "demand-error: found " << (argc > 1 ? argv[1] : "no file") << ' ' << fault
                  << "; allowed: one table of sizes, such as bench/scenarios/sizes/web-search.txt\n";
        return 2;
    }
    std::array<Error, kIntervals.size()> even;
    std::array<Error, kIntervals.size()> ours;
    for (unsigned source = 0; source < kSources; ++source) {
        const std::vector<double> bins = sent_by(sizes, Random(17, source));
        for (std::size_t i = 0; i < kIntervals.size(); ++i) {
            const auto length = static_cast<std::size_t>(std::lround(kIntervals[i] / kBin));
            judge(bins, length, kEven, even[i]);
            judge(bins, length, {}, ours[i]);
        }
    }
    nlohmann::json answer = nlohmann::json::array();
    for (std::size_t i = 0; i < kIntervals.size(); ++i)
        answer.push_back({{"interval_s", kIntervals[i]},
                          {"error", even[i].off / even[i].used},
                          {"error_weir", ours[i].off / ours[i].used}});
    std::cout << answer.dump() << '\n';
}
