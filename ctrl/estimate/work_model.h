// work_model.h - how much of an appliance a token of each kind of request takes: prices are only nearly
// right, so the capacity in tokens is another for each mix (Pulsar 4.3). What went through a full appliance
// says so: the parts of it that the kinds took add up to one. Source: recursive least squares (Kalman's form)
// on relative errors. Units: rates in tokens/s, work in seconds of the appliance per token. Threads: one
// owner.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weir::estimate {

class WorkModel {
  public:
    /// Of more kinds nothing is learnt.
    static constexpr std::size_t kKindsMost = 128;

    /// Takes in an interval.
    /// @param rates by kind
    /// @param full the appliance had requests waiting all the time. If not, they took at most all of it
    /// @param typical work of a token: a kind that was never seen is taken for no more, while the appliance
    /// is not full
    void learn(std::span<const double> rates, bool full, double typical);
    /// Tokens/s of a mix.
    /// @param parts by kind, in any unit
    /// @return 0 when something in it was never seen
    [[nodiscard]] double capacity(std::span<const double> parts) const;
    /// How far off that may be, as a part of it (standard deviation); of what is not known, 1.
    [[nodiscard]] double error(std::span<const double> parts) const;

  private:
    [[nodiscard]] bool begin(std::span<const double> rates, bool full, double typical);
    void correct(std::span<const double> rates, double error, bool full);
    [[nodiscard]] double& spread(std::size_t i, std::size_t j) { return spread_[i * kinds_ + j]; }
    [[nodiscard]] double spread(std::size_t i, std::size_t j) const { return spread_[i * kinds_ + j]; }

    std::size_t kinds_ = 0;
    std::vector<double> work_;    // by kind; 0: never seen
    std::vector<double> spread_;  // covariance of relative errors
    std::vector<double> parts_;   // of the appliance, in one reading
    std::vector<double> gain_;
};

/// What each would use of `capacity`: what it wants, or the same times its weight as all others who want
/// more.
/// @param out as many as `wanted`
void share_by_weight(double capacity, std::span<const double> wanted, std::span<const double> weights,
                     std::span<double> out);

}  // namespace weir::estimate
