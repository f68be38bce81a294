// work_model.h - mix of requests at an appliance, and the work that a token of each kind takes.
// Source: Pulsar 4.3; docs/algorithms.md 7.3
// Units: rates in tokens/s, work in seconds of the appliance per token. Threads: one owner.
//
// Prices of requests are only nearly right, so an appliance's capacity in tokens/s differs between mixes.
// While an appliance is full, the sum of rate * work over its kinds of requests is 1: a reading, an equation.
//
// Example: full with 900 get and 100 set tokens/s, and full with 500 and 300. Then a get token takes 1/1100 s
// and a set token 1/550 s, and a mix of equal parts has a capacity of 733 tokens/s.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weir::estimate {

/// Parts of the tokens by kind of request, at some time before.
class RequestMix {
  public:
    /// Part of the tokens that moved to another kind since remember(), 0 to 1; 0 without an earlier mix.
    /// @param tokens by kind
    [[nodiscard]] double moved(std::span<const double> tokens) const;
    /// Has no effect without tokens.
    void remember(std::span<const double> tokens);
    void forget() { parts_.clear(); }
    /// Kinds have other numbers from now on. @param before by new number: the old one; at or beyond the
    /// number of old kinds: a new kind
    void renumber(std::span<const std::size_t> before);
    [[nodiscard]] bool is_known() const { return !parts_.empty(); }

  private:
    std::vector<double> parts_;  // of 1
};

class WorkModel {
  public:
    /// Readings with more kinds are ignored.
    static constexpr std::size_t kKindsMost = 128;

    /// Learns from one interval.
    /// @param rates by kind
    /// @param full requests waited at the appliance all the time; otherwise the rates took at most all of it
    /// @param typical work of a token; bounds the guess for a new kind while the appliance is not full
    void learn(std::span<const double> rates, bool full, double typical);
    /// As RequestMix::renumber().
    void renumber(std::span<const std::size_t> before);
    /// Capacity for a mix in tokens/s; 0 when a kind in it is not known.
    /// @param parts by kind, in any unit
    [[nodiscard]] double capacity(std::span<const double> parts) const;
    /// Standard deviation of that capacity, as a part of it; 1 when it is not known.
    [[nodiscard]] double error(std::span<const double> parts) const;

  private:
    [[nodiscard]] bool begin(std::span<const double> rates, bool full, double typical);
    void correct(std::span<const double> rates, double error, bool full);
    [[nodiscard]] double& spread(std::size_t i, std::size_t j) { return spread_[i * kinds_ + j]; }
    [[nodiscard]] double spread(std::size_t i, std::size_t j) const { return spread_[i * kinds_ + j]; }

    std::size_t kinds_ = 0;
    std::vector<double> work_;    // by kind; 0: not known
    std::vector<double> spread_;  // covariance of relative errors
    std::vector<double> parts_;   // of the appliance, in one reading
    std::vector<double> gain_;
};

}  // namespace weir::estimate
