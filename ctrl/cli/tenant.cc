// tenant.cc - weirctl tenant, host, appliance: members of the controller's specification.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>

#include "ctrl/cli/apply.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"

namespace weir::cli {
namespace {

/// A list of named members in the specification.
struct Members {
    const char* word;     ///< "tenant"
    const char* pointer;  ///< "/tenants"
};
constexpr Members kTenants{"tenant", "/tenants"};
constexpr Members kHosts{"host", "/topology/hosts"};
constexpr Members kAppliances{"appliance", "/appliances"};

json& list_in(json& specification, const Members& members) {
    json& list = specification[json::json_pointer(members.pointer)];
    if (!list.is_array())
        list = json::array();
    return list;
}

/// "a, b, c"
std::string names_of(const json& list) {
    std::string names;
    for (const json& each : list)
        names += (names.empty() ? "" : ", ") + text_at(each, "/name");
    return names.empty() ? "none" : names;
}

/// @throws Failure: there is none
json& member_in(json& list, const char* word, const std::string& name) {
    const auto found =
        std::ranges::find_if(list, [&](const json& each) { return at(each, "/name") == name; });
    if (found == list.end())
        throw bad_input(word, name, names_of(list), std::string("there is no such ") + word);
    return *found;
}

/// @throws Failure: it is there, or has no name
void add_member(json& list, const char* word, const json& member) {
    if (!at(member, "/name").is_string())
        throw bad_input("name", "nothing", std::string("the name of the ") + word, "it is missing");
    const std::string name = member["name"];
    if (std::ranges::any_of(list, [&](const json& each) { return at(each, "/name") == name; }))
        throw bad_input(word, name, "another name",
                        std::string("there is one; change it by `") + word + " set`");
    list.push_back(member);
}

void remove_member(json& list, const char* word, const std::string& name) {
    (void)member_in(list, word, name);
    const auto gone = std::ranges::find_if(list, [&](const json& each) { return at(each, "/name") == name; });
    list.erase(gone);
}

/// Sets the keys of `change`; null removes one. Members of the list "appliances" are found by their names.
void merge(json& member, const json& change) {
    for (const auto& [key, value] : change.items()) {
        if (value.is_null()) {
            member.erase(key);
        } else if (key == "appliances" && value.is_array()) {
            json& parts = member[key];
            if (!parts.is_array())
                parts = json::array();
            for (const json& part : value) {
                const auto known = std::ranges::find_if(
                    parts, [&](const json& each) { return at(each, "/name") == at(part, "/name"); });
                merge(known == parts.end() ? parts.emplace_back(json::object()) : *known, part);
            }
        } else {
            member[key] = value;
        }
    }
}

/// `WORD add OBJECT`, with the vNICs of a tenant by their names.
void add_adding(CLI::App& command, Session& session, const Members& members, const char* example) {
    const auto options = add_apply_options(command);
    auto words = std::make_shared<std::vector<std::string>>();
    auto vnics = std::make_shared<std::vector<std::string>>();
    command.add_option("FILE|JSON|PAIRS", *words, "as in the cluster file: a file, an object, or KEY=VALUE")
        ->required();
    if (members.word == kTenants.word)
        command.add_option("--vnic", *vnics, "a vNIC of the tenant; may be repeated")->type_name("NAME");
    command.footer(example);
    command.callback([&session, options, words, vnics, members] {
        json member = object_of_words(*words);
        for (const std::string& vnic : *vnics)
            member["vnics"].push_back({{"name", vnic}});
        edit_specification(session, *options, [&](json& specification) {
            add_member(list_in(specification, members), members.word, member);
        });
    });
}

void add_setting(CLI::App& command, Session& session, const Members& members, const char* example) {
    const auto options = add_apply_options(command);
    auto name = std::make_shared<std::string>();
    auto pairs = std::make_shared<std::vector<std::string>>();
    command.add_option("NAME", *name, members.word)->required();
    command.add_option("PAIRS", *pairs, "KEY=VALUE, each a new value; none removes a key")->required();
    command.footer(example);
    command.callback([&session, options, name, pairs, members] {
        const json change = object_of_pairs(*pairs);
        edit_specification(session, *options, [&](json& specification) {
            merge(member_in(list_in(specification, members), members.word, *name), change);
        });
    });
}

void add_removing(CLI::App& command, Session& session, const Members& members, const char* example) {
    const auto options = add_apply_options(command);
    auto name = std::make_shared<std::string>();
    command.add_option("NAME", *name, members.word)->required();
    command.footer(example);
    command.callback([&session, options, name, members] {
        edit_specification(session, *options, [&](json& specification) {
            remove_member(list_in(specification, members), members.word, *name);
        });
    });
}

/// Changes the list of the tenant's vNICs.
void edit_vnics(Session& session, const ApplyOptions& options, const std::string& tenant,
                const std::function<void(json& vnics)>& edit) {
    edit_specification(session, options, [&](json& specification) {
        json& owner = member_in(list_in(specification, kTenants), kTenants.word, tenant);
        if (!at(owner, "/vnics").is_array())
            owner["vnics"] = json::array();
        edit(owner["vnics"]);
    });
}

}  // namespace

std::string tenant_list_text(const json& tenants, const Terminal& terminal) {
    Table table({{"TENANT"}, {"VNICS", true}, {"WEIGHT", true, 1}, {"SHARING", false, 1}, {"APPLIANCES"}});
    for (const json& tenant : tenants) {
        std::string parts;
        for (const json& part : list_at(tenant, "/appliances"))
            parts +=
                (parts.empty() ? "" : ", ") + text_at(part, "/name") + ' ' + text_at(part, "/reservation");
        table.add_row({text_at(tenant, "/name"), std::to_string(list_at(tenant, "/vnics").size()),
                       text_at(tenant, "/weight"), text_at(tenant, "/sharing_rule"),
                       parts.empty() ? "-" : parts});
    }
    return table.render(terminal.columns, terminal.color);
}

void add_tenant_list(CLI::App& command, Session& session) {
    command.footer("Example:\n  weirctl tenant list --socket /run/weir/admin/ctrl.sock");
    command.callback([&session] {
        json specification = specification_in_force(session);
        session.print(list_in(specification, kTenants), tenant_list_text);
    });
}

void add_tenant_show(CLI::App& command, Session& session) {
    auto name = std::make_shared<std::string>();
    command.add_option("NAME", *name, "the tenant")->required();
    command.footer("Example:\n  weirctl tenant show A --socket /run/weir/admin/ctrl.sock");
    command.callback([&session, name] {
        constexpr int kIndent = 2;
        json specification = specification_in_force(session);
        const json& tenant = member_in(list_in(specification, kTenants), kTenants.word, *name);
        session.print(tenant, tenant.dump(kIndent) + '\n');
    });
}

void add_tenant_add(CLI::App& command, Session& session) {
    add_adding(command, session, kTenants,
               "Examples:\n"
               "  weirctl tenant add name=C weight=50 disk.reservation=200tokens --vnic c1 --vnic c2 --wait\n"
               "  weirctl tenant add tenant.jsonc");
}

void add_tenant_set(CLI::App& command, Session& session) {
    add_setting(command, session, kTenants,
                "Example:\n  weirctl tenant set C weight=80 disk.reservation=300tokens disk.limit=none");
}

void add_tenant_remove(CLI::App& command, Session& session) {
    add_removing(command, session, kTenants, "Example:\n  weirctl tenant remove C --yes");
}

void add_tenant_add_vnic(CLI::App& command, Session& session) {
    const auto options = add_apply_options(command);
    auto tenant = std::make_shared<std::string>();
    auto words = std::make_shared<std::vector<std::string>>();
    command.add_option("TENANT", *tenant, "the tenant")->required();
    command.add_option("FILE|JSON|PAIRS", *words, "as in the cluster file: a file, an object, or KEY=VALUE")
        ->required();
    command.footer("Example:\n  weirctl tenant add-vnic C name=c3 reservation=100Mbit --wait");
    command.callback([&session, options, tenant, words] {
        const json vnic = object_of_words(*words);
        edit_vnics(session, *options, *tenant, [&](json& vnics) { add_member(vnics, "vNIC", vnic); });
    });
}

void add_tenant_set_vnic(CLI::App& command, Session& session) {
    const auto options = add_apply_options(command);
    auto tenant = std::make_shared<std::string>();
    auto name = std::make_shared<std::string>();
    auto pairs = std::make_shared<std::vector<std::string>>();
    command.add_option("TENANT", *tenant, "the tenant")->required();
    command.add_option("NAME", *name, "its vNIC")->required();
    command.add_option("PAIRS", *pairs, "KEY=VALUE, each a new value; none removes a key")->required();
    command.footer(
        "Examples:\n"
        "  weirctl tenant set-vnic C c3 reservation=200Mbit limit=none\n"
        "  weirctl tenant set-vnic C c3 guarantee_kind=dynamic size=75GB time=600s reservation=none\n"
        "  weirctl tenant set-vnic C c3 mac=52:54:00:00:00:03 vlan=7");
    command.callback([&session, options, tenant, name, pairs] {
        const json change = object_of_pairs(*pairs);
        edit_vnics(session, *options, *tenant,
                   [&](json& vnics) { merge(member_in(vnics, "vNIC", *name), change); });
    });
}

void add_tenant_remove_vnic(CLI::App& command, Session& session) {
    const auto options = add_apply_options(command);
    auto tenant = std::make_shared<std::string>();
    auto name = std::make_shared<std::string>();
    command.add_option("TENANT", *tenant, "the tenant")->required();
    command.add_option("NAME", *name, "its vNIC")->required();
    command.footer("Example:\n  weirctl tenant remove-vnic C c3");
    command.callback([&session, options, tenant, name] {
        edit_vnics(session, *options, *tenant, [&](json& vnics) { remove_member(vnics, "vNIC", *name); });
    });
}

void add_host_add(CLI::App& command, Session& session) {
    add_adding(command, session, kHosts, "Example:\n  weirctl host add name=h9 uplink=25Gbit key=KEY");
}

void add_host_set(CLI::App& command, Session& session) {
    add_setting(command, session, kHosts, "Example:\n  weirctl host set h9 key=NEW_KEY --yes");
}

void add_host_remove(CLI::App& command, Session& session) {
    add_removing(command, session, kHosts, "Example:\n  weirctl host remove h9 --yes");
}

void add_host_drain(CLI::App& command, Session& session) {
    const auto options = add_apply_options(command);
    auto name = std::make_shared<std::string>();
    auto off = std::make_shared<bool>(false);
    command.add_option("NAME", *name, "host")->required();
    command.add_flag("--off", *off, "vNICs may come again");
    command.footer(
        "Examples:\n"
        "  weirctl host drain h9 --socket /run/weir/admin/ctrl.sock\n"
        "  weirctl host drain h9 --off\n"
        "vNICs that are there stay. Refused when the other hosts cannot keep their promises.");
    command.callback([&session, options, name, off] {
        edit_specification(session, *options, [&](json& specification) {
            json& host = member_in(list_in(specification, kHosts), kHosts.word, *name);
            if (*off)
                host.erase("drain");
            else
                host["drain"] = true;
        });
    });
}

void add_appliance_set(CLI::App& command, Session& session) {
    add_setting(command, session, kAppliances,
                "Example:\n  weirctl appliance set disk capacity_max=20ktokens --yes");
}

}  // namespace weir::cli
