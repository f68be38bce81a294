// flow_demands.h - the demands of flows, ordered by flow, with one hash lookup for a record.
// Units: tokens (at links: bytes) of one interval. Threads: one owner.
//
// The flows of one vNIC stand together, ordered by destination, and the vNICs stand in the order of their
// ids: 24,000 flows are walked in memory's order, and a change moves a vNIC's few flows. vNICs that are given
// at the start cost nothing later; each other one moves those behind it when its first flow comes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/wire/records.h"

namespace weir {

class FlowDemands {
  public:
    using value_type = std::pair<wire::FlowKey, wire::FlowDemand>;
    using Flows = std::vector<value_type>;  ///< of one vNIC, ordered by destination

  private:
    struct Source {
        std::uint32_t id;
        Flows flows;
    };

  public:
    class const_iterator {
      public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = FlowDemands::value_type;
        using difference_type = std::ptrdiff_t;
        using pointer = const value_type*;
        using reference = const value_type&;

        const_iterator() = default;
        reference operator*() const { return (*sources_)[source_].flows[flow_]; }
        pointer operator->() const { return &**this; }
        const_iterator& operator++() {
            ++flow_;
            skip_empty();
            return *this;
        }
        const_iterator operator++(int) {
            const const_iterator before = *this;
            ++*this;
            return before;
        }
        bool operator==(const const_iterator& other) const {
            return source_ == other.source_ && flow_ == other.flow_;
        }

      private:
        friend class FlowDemands;
        const_iterator(const std::vector<Source>& sources, std::size_t source, std::size_t flow)
            : sources_(&sources), source_(source), flow_(flow) {
            skip_empty();
        }
        void skip_empty() {
            while (source_ < sources_->size() && flow_ >= (*sources_)[source_].flows.size()) {
                ++source_;
                flow_ = 0;
            }
        }

        const std::vector<Source>* sources_ = nullptr;
        std::size_t source_ = 0;
        std::size_t flow_ = 0;
    };

    FlowDemands() = default;
    /// @param vnics ids of all that may be sources, ordered
    explicit FlowDemands(const std::vector<std::uint32_t>& vnics) {
        for (const std::uint32_t vnic : vnics)
            sources_.push_back({vnic, {}});
        index_from(0);
    }

    [[nodiscard]] const_iterator begin() const { return {sources_, 0, 0}; }
    [[nodiscard]] const_iterator end() const { return {sources_, sources_.size(), 0}; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }

    [[nodiscard]] const_iterator find(wire::FlowKey flow) const {
        const auto source = index_.find(flow.source);
        if (source == index_.end())
            return end();
        const Flows& flows = sources_[source->second].flows;
        const auto at = lower_bound(flows, flow);
        return at == flows.end() || at->first != flow
                   ? end()
                   : const_iterator(sources_, source->second, static_cast<std::size_t>(at - flows.begin()));
    }
    /// All flows of a vNIC.
    [[nodiscard]] const Flows& of(std::uint32_t vnic) const {
        static const Flows none;
        const auto source = index_.find(vnic);
        return source == index_.end() ? none : sources_[source->second].flows;
    }
    [[nodiscard]] bool contains(wire::FlowKey flow) const { return find(flow) != end(); }

    /// The flow's demand; a new flow's is empty.
    wire::FlowDemand& operator[](wire::FlowKey flow) { return *put(flow).first; }
    /// @return the flow's demand, and whether the flow is new
    std::pair<wire::FlowDemand*, bool> put(wire::FlowKey flow) {
        Flows& flows = source_of(flow.source).flows;
        const auto at = lower_bound(flows, flow);
        if (at != flows.end() && at->first == flow)
            return {&flows[static_cast<std::size_t>(at - flows.begin())].second, false};
        ++size_;
        return {&flows.insert(at, value_type{flow, {}})->second, true};
    }
    void erase(wire::FlowKey flow) {
        const auto source = index_.find(flow.source);
        if (source == index_.end())
            return;
        Flows& flows = sources_[source->second].flows;
        const auto at = lower_bound(flows, flow);
        if (at == flows.end() || at->first != flow)
            return;
        flows.erase(at);
        --size_;
    }
    /// Removes all flows of a vNIC. @return them
    Flows take(std::uint32_t vnic) {
        const auto source = index_.find(vnic);
        if (source == index_.end())
            return {};
        Flows flows = std::exchange(sources_[source->second].flows, {});
        size_ -= flows.size();
        return flows;
    }
    void clear() {
        for (Source& source : sources_)
            source.flows.clear();
        size_ = 0;
    }

    /// @param flows ordered
    [[nodiscard]] static Flows::const_iterator lower_bound(const Flows& flows, wire::FlowKey flow) {
        return std::ranges::lower_bound(flows, flow, {}, &value_type::first);
    }

  private:
    Source& source_of(std::uint32_t vnic) {
        if (const auto known = index_.find(vnic); known != index_.end())
            return sources_[known->second];
        const auto at = std::ranges::lower_bound(sources_, vnic, {}, &Source::id);
        const auto place = static_cast<std::size_t>(at - sources_.begin());
        sources_.insert(at, Source{vnic, {}});
        index_from(place);
        return sources_[place];
    }
    void index_from(std::size_t first) {
        for (std::size_t i = first; i < sources_.size(); ++i)
            index_[sources_[i].id] = i;
    }

    std::vector<Source> sources_;                           // ordered by id
    std::unordered_map<std::uint32_t, std::size_t> index_;  // into sources_, by id
    std::size_t size_ = 0;
};

}  // namespace weir
