// peer_budget.cc - allowances in integers, and the numbers that follow from the protocol's own maxima.
#include "ctrl/daemon/peer_budget.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace weir {
namespace {

constexpr std::uint64_t kMessageMax = wire::kHeaderBytes + wire::kBodyBytesMax;

std::size_t index_of(Work work) {
    return static_cast<std::size_t>(work);
}

}  // namespace

void Allowance::refill(const AllowedRate& allowed, Nanos now) {
    const Nanos passed = now > at_ ? now - at_ : 0;
    at_ = std::max(at_, now);
    // Compared by division: a product of a long time would not fit.
    missing_ = passed > missing_ / allowed.amount ? 0 : missing_ - passed * allowed.amount;
}

bool Allowance::take(const AllowedRate& allowed, std::uint64_t units, Nanos now) {
    refill(allowed, now);
    if (units > allowed.burst || missing_ + units * allowed.span > allowed.burst * allowed.span)
        return false;
    missing_ += units * allowed.span;
    return true;
}

bool Allowance::is_whole(const AllowedRate& allowed, Nanos now) {
    refill(allowed, now);
    return missing_ == 0;
}

const char* name_of(Work work) {
    constexpr std::array<const char*, kWorks> kNames{"messages",  "bytes",        "hellos",     "hello_bytes",
                                                     "snapshots", "early_solves", "connections"};
    return kNames[index_of(work)];
}

WorkLimits work_limits(Nanos interval) {
    // A switch acts every 10 ms: a DEMAND and a USAGE then, and 10 HELLOs a second, are 210 messages. Its
    // DEMANDs are an interval's tenth apart, so that answers to a lost one are asked for at most ten times.
    const Nanos span = std::min(interval, kNanosPerSec);
    WorkLimits limits;
    const auto set = [&limits](Work work, const AllowedRate& rate) { limits[index_of(work)] = rate; };
    set(Work::kMessages, {420, kNanosPerSec, 420});
    set(Work::kBytes, {2 * kMessageMax, span, 4 * kMessageMax});
    set(Work::kHellos, {4, kNanosPerSec, 10});
    // 20,000 vNICs are 1.4 MB: one each second is always taken.
    set(Work::kHelloBytes, {kMessageMax / 2, kNanosPerSec, 2 * kMessageMax});
    set(Work::kSnapshots, {2, span, 10});
    set(Work::kEarlySolves, {2, span, 10});
    set(Work::kConnections, {1, kNanosPerSec, 1});
    return limits;
}

std::optional<Work> PeerBudgets::refuse(const Peer& peer, bool is_hello, std::uint64_t bytes, Nanos now) {
    Account* const account = account_of(peer, now);
    if (account == nullptr) {
        ++refused_[index_of(Work::kConnections)];
        return Work::kConnections;
    }
    if (!take(*account, Work::kMessages, 1, now))
        return Work::kMessages;
    if (!take(*account, Work::kBytes, bytes, now))
        return Work::kBytes;
    if (is_hello && !take(*account, Work::kHellos, 1, now))
        return Work::kHellos;
    if (is_hello && !take(*account, Work::kHelloBytes, bytes, now))
        return Work::kHelloBytes;
    return std::nullopt;
}

bool PeerBudgets::take(const Peer& peer, Work work, Nanos now) {
    Account* const account = account_of(peer, now);
    return account != nullptr && take(*account, work, 1, now);
}

bool PeerBudgets::take(Account& account, Work work, std::uint64_t units, Nanos now) {
    const std::size_t index = index_of(work);
    if (account.left[index].take(limits_[index], units, now))
        return true;
    ++account.refused[index];
    ++refused_[index];
    return false;
}

PeerBudgets::Account* PeerBudgets::account_of(const Peer& peer, Nanos now) {
    if (!peer.host.empty()) {
        Account& account = by_host_[peer.host];
        account.name = peer.host;
        return &account;
    }
    const auto known = by_route_.find(peer.route);
    if (known != by_route_.end())
        return &known->second;
    if (by_route_.size() >= plain_max_ && !make_room(now))
        return nullptr;
    Account& account = by_route_[peer.route];
    account.name = "local connection " + std::to_string(++plain_);
    return &account;
}

/// Removes the accounts that lose nothing by it.
bool PeerBudgets::make_room(Nanos now) {
    const std::size_t before = by_route_.size();
    for (auto each = by_route_.begin(); each != by_route_.end();) {
        bool is_whole = true;
        for (std::size_t i = 0; i < kWorks; ++i)
            is_whole = is_whole && each->second.left[i].is_whole(limits_[i], now);
        each = is_whole ? by_route_.erase(each) : std::next(each);
    }
    return by_route_.size() < before;
}

nlohmann::json PeerBudgets::describe(std::size_t most) const {
    struct Row {
        const std::string* peer;
        std::size_t work;
        std::uint64_t times;
    };
    std::vector<Row> rows;
    for (const auto* accounts : {&by_host_, &by_route_})
        for (const auto& [key, account] : *accounts)
            for (std::size_t i = 0; i < kWorks; ++i)
                if (account.refused[i] != 0)
                    rows.push_back({&account.name, i, account.refused[i]});
    std::ranges::stable_sort(rows, std::ranges::greater{}, &Row::times);
    rows.resize(std::min(rows.size(), most));
    nlohmann::json refused = nlohmann::json::object();
    for (std::size_t i = 0; i < kWorks; ++i)
        refused[name_of(static_cast<Work>(i))] = refused_[i];
    nlohmann::json peers = nlohmann::json::array();
    for (const Row& row : rows)
        peers.push_back(
            {{"peer", *row.peer}, {"reason", name_of(static_cast<Work>(row.work))}, {"times", row.times}});
    return {{"refused", std::move(refused)}, {"peers", std::move(peers)}};
}

}  // namespace weir
