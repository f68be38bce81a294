// views.cc - lists and members of them.
#include "ctrl/api/views.h"

#include <algorithm>

namespace weir {
namespace {

using nlohmann::json;

const json& list_in(const json& object, const char* key) {
    static const json kNone = json::array();
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() && found->is_array() ? *found : kNone;
}

/// @return an object without members, and a fault: there is none
json member_of(const json& list, const std::string& name, const char* noun, Faults& faults) {
    const auto found = std::ranges::find_if(
        list, [&](const json& each) { return each.is_object() && each.value("name", "") == name; });
    if (found != list.end())
        return *found;
    faults.push_back({"name", name, std::string("a ") + noun + " of the specification", "there is none"});
    return json::object();
}

}  // namespace

json hosts_view(const json& status) {
    return list_in(status, "hosts");
}

json host_view(const json& status, const std::string& name, Faults& faults) {
    return member_of(list_in(status, "hosts"), name, "host", faults);
}

json resources_view(const json& status) {
    json links = json::array();
    for (const json& host : list_in(status, "hosts")) {
        json link = host.value("link", json::object());
        link["host"] = host.value("name", "");
        link["state"] = host.value("state", "");
        links.push_back(std::move(link));
    }
    return {{"links", std::move(links)}, {"appliances", list_in(status, "appliances")}};
}

json tenants_view(const json& specification) {
    return list_in(specification, "tenants");
}

json tenant_view(const json& specification, const std::string& name, Faults& faults) {
    return member_of(list_in(specification, "tenants"), name, "tenant", faults);
}

json vnics_view(const json& specification, const std::string& tenant, Faults& faults) {
    json vnics = json::array();
    const json& tenants = list_in(specification, "tenants");
    if (!tenant.empty())
        (void)member_of(tenants, tenant, "tenant", faults);
    for (const json& owner : tenants) {
        const std::string name = owner.value("name", "");
        if (!tenant.empty() && name != tenant)
            continue;
        for (json vnic : list_in(owner, "vnics")) {
            vnic["tenant"] = name;
            vnics.push_back(std::move(vnic));
        }
    }
    return vnics;
}

}  // namespace weir
