// capture_filter.cc - compile_filter() for Ethernet.
#include "ctrl/cli/capture_filter.h"

#include <pcap/pcap.h>

#include <memory>

#include "ctrl/cli/failure.h"

namespace weir::cli {

std::vector<FilterInstruction> compile_filter(const std::string& expression, std::uint32_t snap) {
    constexpr int kOptimize = 1;
    const std::unique_ptr<pcap_t, decltype(&pcap_close)> pcap(
        pcap_open_dead(DLT_EN10MB, static_cast<int>(snap)), &pcap_close);
    bpf_program program{};
    if (pcap == nullptr ||
        pcap_compile(pcap.get(), &program, expression.c_str(), kOptimize, PCAP_NETMASK_UNKNOWN) != 0)
        throw bad_input("--filter", expression, "an expression of pcap-filter(7), such as 'tcp port 80'",
                        pcap == nullptr ? "libpcap has no memory" : pcap_geterr(pcap.get()));
    std::vector<FilterInstruction> filter;
    for (const bpf_insn* each = program.bf_insns; each != program.bf_insns + program.bf_len; ++each)
        filter.push_back({each->code, each->jt, each->jf, each->k});
    pcap_freecode(&program);
    if (filter.size() > kFilterInstructionsMax)
        throw bad_input("--filter", std::to_string(filter.size()) + " instructions",
                        "at most " + std::to_string(kFilterInstructionsMax),
                        "the switch runs it for each frame; use a shorter expression");
    return filter;
}

}  // namespace weir::cli
