// placement.cc - what-if kind `placement`: hosts and appliances for tenants, or the constraint that fails.
// Source: Pulsar 4.5; EyeQ 3.5; docs/design.md 5.4
// Units: any one unit, or texts with units; counted in thousandths, so that 2.5 of 10 is exact.
#include <array>
#include <cmath>
#include <cstdio>

#include "ctrl/placement/plan.h"
#include "ctrl/what_if/fields.h"
#include "ctrl/what_if/registry.h"

namespace weir::what_if {

using namespace weir::placement;
using nlohmann::json;

namespace {

constexpr double kAmountGrain = 1000;
constexpr double kAmountMost = 1e14;  // of the sum: a thousand links of 800 Gbit/s
constexpr std::array kLinkNeeds{Word<placement::LinkNeed>{"hose", placement::LinkNeed::kHose},
                                Word<placement::LinkNeed>{"sum", placement::LinkNeed::kSum}};

double number_of(Tokens amount) {
    return static_cast<double>(amount) / kAmountGrain;
}

std::string amount_text(ConstraintKind kind, Tokens amount) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g",
                  kind == ConstraintKind::kSlots ? static_cast<double>(amount) : number_of(amount));
    return text;
}

class Reader {
  public:
    explicit Reader(Faults& faults) : faults_(faults) {}

    void topology(ObjectReader& problem) {
        require(problem, "topology", "an object with \"hosts\"");
        read_object(problem, "topology", faults_, [&](ObjectReader& reader) {
            for_objects(reader, "racks", false, faults_, [&](ObjectReader& entry) {
                Rack& rack = out.racks.emplace_back();
                rack.id = id(entry, racks_);
                amount(entry, "uplink", Quantity::kBitRate, rack.uplink, true);
            });
            for_objects(reader, "hosts", true, faults_, [&](ObjectReader& entry) {
                Host& host = out.hosts.emplace_back();
                host.id = id(entry, hosts_);
                amount(entry, "uplink", Quantity::kBitRate, host.uplink, true);
                host.rack = read_name(entry, "rack", racks_).value_or(kAnywhere);
                entry.read_integer("slots", host.slots, {0, 1'000'000});
            });
            for_objects(reader, "appliances", false, faults_, [&](ObjectReader& entry) { appliance(entry); });
        });
    }

    void tenant(ObjectReader& reader) {
        Tenant& tenant = tenants.emplace_back();
        tenant.id = id(reader, tenants_);
        Names vnics;
        for_objects(reader, "vnics", false, faults_,
                    [&](ObjectReader& entry) { vnic(entry, vnics, tenant); });
        Names appliances;
        for_objects(reader, "appliances", false, faults_, [&](ObjectReader& entry) {
            VirtualAppliance& part = tenant.appliances.emplace_back();
            part.id = part.type = id(entry, appliances);
            entry.read_text("type", part.type);
            amount(entry, "reservation", Quantity::kTokenRate, part.reservation, true);
            amount(entry, "bandwidth", Quantity::kBitRate, part.bandwidth, false);
        });
        if (total_ > kAmountMost)
            reader.fault("id", "1e14 in all tenants together",
                         "the sum of reservations and rates up to this tenant is larger");
    }

    Topology out;
    std::vector<Tenant> tenants;

  private:
    static std::string id(ObjectReader& reader, Names& names) { return names[names.add(reader)]; }

    void appliance(ObjectReader& entry) {
        Appliance& appliance = out.appliances.emplace_back();
        appliance.id = id(entry, appliances_);
        appliance.type = appliance.id;
        entry.read_text("type", appliance.type);
        amount(entry, "capacity", Quantity::kTokenRate, appliance.capacity, true);
        appliance.host = read_name(entry, "host", hosts_).value_or(kAnywhere);
        appliance.rack = read_name(entry, "rack", racks_).value_or(kAnywhere);
        amount(entry, "link", Quantity::kBitRate, appliance.link, false);
        if (appliance.host != kAnywhere && (entry.has("link") || entry.has("rack")))
            entry.fault("host", "a host, or a link and a rack",
                        "an appliance behind a host shares that host's uplink and rack");
    }

    void vnic(ObjectReader& entry, Names& names, Tenant& tenant) {
        Vnic vnic;
        vnic.id = id(entry, names);
        amount(entry, "reservation", Quantity::kBitRate, vnic.reservation, true);
        vnic.host = read_name(entry, "host", hosts_).value_or(kAnywhere);
        std::uint32_t count = 1;
        if (!entry.read_integer("count", count, {1, kListMost}) || !faults_.empty()) {
            tenant.vnics.push_back(std::move(vnic));
            return;
        }
        total_ += number_of(vnic.reservation) * (count - 1);
        vnics_ += count;
        if (vnics_ > kListMost)
            entry.fault("count", "at most " + std::to_string(kListMost) + " vNICs in all",
                        "more vNICs than that");
        for (std::uint32_t i = 1; i <= count && vnics_ <= kListMost; ++i) {
            tenant.vnics.push_back(vnic);
            tenant.vnics.back().id += std::to_string(i);
        }
    }

    /// Reads a number, or a text with a unit; bits become bytes.
    void amount(ObjectReader& reader, std::string_view key, Quantity quantity, Tokens& out_amount,
                bool needed) {
        const std::string allowed = "a number, 0 to 1e14, or a text in " + units_of(quantity);
        if (needed)
            require(reader, key, allowed.c_str());
        const json* value = reader.take(key);
        if (value == nullptr)
            return;
        double number = -1;
        if (value->is_number())
            number = value->get<double>();
        if (value->is_string()) {
            const ParsedQuantity parsed = parse_quantity(quantity, value->get<std::string>());
            if (parsed.ok())
                number = static_cast<double>(parsed.value) / (quantity == Quantity::kBitRate ? 8 : 1);
        }
        if (!(number >= 0 && number <= kAmountMost)) {
            reader.fault(key, allowed, "not an amount");
            return;
        }
        total_ += number;
        out_amount = static_cast<Tokens>(std::llround(number * kAmountGrain));
    }

    Faults& faults_;
    Names racks_;
    Names hosts_;
    Names appliances_;
    Names tenants_;
    double total_ = 0;
    std::size_t vnics_ = 0;
};

json failure_json(const Topology& topology, const Tenant& tenant, const Shortfall& why) {
    const bool vnic = why.part == Shortfall::Part::kVnic;
    json failure{
        {"tenant", tenant.id},
        {vnic ? "vnic" : "appliance", vnic ? tenant.vnics[why.index].id : tenant.appliances[why.index].id},
        {"message", explain(topology, tenant, why, amount_text)},
        {"proven", why.proven}};
    if (why.nowhere) {
        failure["constraint"] = vnic ? "no_host" : "no_appliance";
        return failure;
    }
    const bool counted = why.constraint.kind == ConstraintKind::kSlots;
    failure["constraint"] = name_of(why.constraint.kind);
    failure["link"] = id_of(topology, why.constraint);
    failure["need"] = counted ? static_cast<double>(why.need) : number_of(why.need);
    failure["have"] = counted ? static_cast<double>(why.have) : number_of(why.have);
    return failure;
}

json tenant_json(const Topology& topology, const Tenant& tenant, const Plan::Entry& entry) {
    json vnics = json::array();
    json appliances = json::array();
    for (std::size_t i = 0; i < tenant.vnics.size(); ++i)
        vnics.push_back({{"id", tenant.vnics[i].id},
                         {"host", entry.in ? json(topology.hosts[entry.layout.hosts[i]].id) : json()}});
    for (std::size_t i = 0; i < tenant.appliances.size(); ++i)
        appliances.push_back(
            {{"id", tenant.appliances[i].id},
             {"appliance", entry.in ? json(topology.appliances[entry.layout.appliances[i]].id) : json()}});
    return {{"id", tenant.id},
            {"fits", entry.fits},
            {"vnics", std::move(vnics)},
            {"appliances", std::move(appliances)}};
}

json load_json(const Topology& topology, const std::vector<Tenant>& tenants, const Load& load) {
    json parts = json::object();
    for (const Load::Part& part : load.parts)
        parts[tenants[part.tenant].id] = number_of(part.need);
    return {{"constraint", name_of(load.constraint.kind)},
            {"link", id_of(topology, load.constraint)},
            {"need", number_of(load.need)},
            {"have", number_of(load.have)},
            {"tenants", std::move(parts)}};
}

}  // namespace

json solve_placement(ObjectReader& problem, Faults& faults) {
    Reader read(faults);
    auto link_need = placement::LinkNeed::kHose;
    bool force = false;
    problem.read_word<placement::LinkNeed>("link_need", link_need, kLinkNeeds);
    problem.read_flag("force", force);
    read.topology(problem);
    for_objects(problem, "tenants", true, faults, [&](ObjectReader& reader) { read.tenant(reader); });
    if (!faults.empty())
        return {};
    const Plan plan =
        make_plan(read.out, link_need, read.tenants, {}, force ? Misfits::kForce : Misfits::kLeaveOut);
    json answer{{"fits", plan.fits()},
                {"tenants", json::array()},
                {"failed", json::array()},
                {"links", json::array()},
                {"broken", json::array()}};
    for (std::size_t t = 0; t < read.tenants.size(); ++t) {
        answer["tenants"].push_back(tenant_json(read.out, read.tenants[t], plan.entries[t]));
        if (!plan.entries[t].fits)
            answer["failed"].push_back(failure_json(read.out, read.tenants[t], plan.entries[t].why));
    }
    for (const Load& load : plan.after.loads) {
        if (load.constraint.kind != ConstraintKind::kSlots)
            answer["links"].push_back(load_json(read.out, read.tenants, load));
    }
    for (const BrokenGuarantee& broken : plan.after.broken)
        answer["broken"].push_back({{"tenant", read.tenants[broken.tenant].id},
                                    {"constraint", name_of(broken.constraint.kind)},
                                    {"link", id_of(read.out, broken.constraint)},
                                    {"guaranteed", number_of(broken.guaranteed)},
                                    {"possible", number_of(broken.possible)}});
    return answer;
}

}  // namespace weir::what_if
