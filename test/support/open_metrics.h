// open_metrics.h - a strict reader of OpenMetrics pages.
// Source: OpenMetrics 1.0. Threads: tests only.
#pragma once

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weir::test {

/// A page by sample: "weir_vnic_up{vnic=\"vm1\"}" -> 1. Throws on anything that the format forbids: a sample
/// outside of its family or with a wrong suffix, a sample or family that comes twice, a unit that is no
/// suffix of the name.
class OpenMetricsPage {
  public:
    explicit OpenMetricsPage(const std::string& text) {
        if (!text.ends_with("# EOF\n"))
            throw std::invalid_argument("no end mark");
        std::istringstream lines(text.substr(0, text.size() - std::string_view("# EOF\n").size()));
        for (std::string line; std::getline(lines, line);)
            line.starts_with("# ") ? read_head(line) : read_sample(line);
    }

    [[nodiscard]] const std::set<std::string>& families() const { return families_; }
    [[nodiscard]] const std::map<std::string, double>& samples() const { return samples_; }
    [[nodiscard]] double at(const std::string& sample) const {
        const auto found = samples_.find(sample);
        if (found == samples_.end())
            throw std::out_of_range("no sample " + sample);
        return found->second;
    }
    [[nodiscard]] bool has(const std::string& sample) const { return samples_.contains(sample); }

  private:
    [[noreturn]] static void refuse(const std::string& line) { throw std::invalid_argument(line); }

    void read_head(const std::string& line) {
        static const std::regex head(R"(# (TYPE|UNIT|HELP) ([a-z][a-z0-9_]*) (\S.*))");
        std::smatch found;
        if (!std::regex_match(line, found, head))
            refuse(line);
        if (found[1] == "TYPE") {
            family_ = found[2];
            type_ = found[3];
            if (!families_.insert(family_).second || family_.ends_with("_total") ||
                family_.ends_with("_info"))
                refuse(line);
        } else if (found[2] != family_) {
            refuse(line);
        }
        if (found[1] == "UNIT" && !family_.ends_with("_" + found[3].str()))
            refuse(line);
    }
    void read_sample(const std::string& line) {
        static const std::regex sample(
            R"re(([a-z][a-z0-9_]*)(\{([a-z_]+="(?:[^"\\]|\\[\\"n])*"(?:,[a-z_]+="(?:[^"\\]|\\[\\"n])*")*)\})? (\S+))re");
        static const std::map<std::string, std::string> suffixes{
            {"counter", "_total"}, {"gauge", ""}, {"summary", ""}, {"info", "_info"}};
        std::smatch found;
        if (!std::regex_match(line, found, sample) || found[1] != family_ + suffixes.at(type_))
            refuse(line);
        std::size_t used = 0;
        const std::string number = found[4];
        const double value = std::stod(number, &used);
        const bool is_quantile = found[3].str().find("quantile=\"") != std::string::npos;
        if (used != number.size() || (type_ == "counter" && !(value >= 0)) ||
            is_quantile != (type_ == "summary") ||
            !samples_.emplace(found[1].str() + found[2].str(), value).second)
            refuse(line);
    }

    std::string family_;
    std::string type_;
    std::set<std::string> families_;
    std::map<std::string, double> samples_;
};

}  // namespace weir::test
