// progress.h - one line on a terminal that says how far it is. Nothing where nobody looks. Threads: one.
#pragma once

#include <cstddef>
#include <string>

namespace weir::calibrate {

class Progress {
  public:
    Progress();
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void expect(std::size_t steps, double seconds_each);
    /// One more step is done.
    void step(const std::string& what);
    /// Steps that were not expected.
    void more(std::size_t steps) { steps_ += steps; }
    void clear();

  private:
    bool shown_;
    std::size_t steps_ = 0;
    std::size_t done_ = 0;
    double seconds_each_ = 0;
};

}  // namespace weir::calibrate
