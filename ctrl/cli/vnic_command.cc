// vnic_command.cc - weirctl vnic list|show|set|add|remove.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>

#include "common/config/config_text.h"
#include "ctrl/cli/failure.h"
#include "ctrl/cli/session.h"
#include "ctrl/cli/status_view.h"
#include "ctrl/cli/vnic_view.h"

namespace weir::cli {
namespace {

using nlohmann::json;

std::string read_file(const std::string& path) {
    std::ostringstream text;
    if (path == "-") {
        text << std::cin.rdbuf();
        return text.str();
    }
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw bad_input("FILE", path, "a readable file, JSON in { }, or key=value ...",
                        "this file could not be read");
    text << file.rdbuf();
    return text.str();
}

json parse_text(const std::string& text) {
    JsonText parsed = read_json_text(text);
    if (!parsed.faults.empty())
        throw Failure(kExitBadInput, std::move(parsed.faults));
    return std::move(parsed.value);
}

// One argument is a file or JSON; more, or one with "=" and no such file, are pairs.
json vnic_of_arguments(const std::vector<std::string>& arguments) {
    const std::string& first = arguments.front();
    if (arguments.size() == 1 && first.find_first_not_of(" \t\n") != std::string::npos &&
        first[first.find_first_not_of(" \t\n")] == '{')
        return parse_text(first);
    const bool file =
        arguments.size() == 1 && (first.find('=') == std::string::npos || std::ifstream(first).good());
    return file ? parse_text(read_file(first)) : object_of_pairs(arguments);
}

void done(const Session& session, const json& data, const std::string& text) {
    if (!session.print_json(data))
        std::cout << text << '\n';
}

void add_list(CLI::App& vnic, Session& session) {
    vnic.add_subcommand("list", "all vNICs, their promises and ports")->callback([&session] {
        const json list = session.ask("vnic.list");
        if (!session.print_json(list))
            std::cout << vnic_list_text(list, terminal_of_stdout());
    });
}

void add_show(CLI::App& vnic, Session& session) {
    auto name = std::make_shared<std::string>();
    CLI::App* show = vnic.add_subcommand("show", "one vNIC: promise, traffic, drops, delay");
    show->add_option("NAME", *name)->required();
    show->callback([&session, name] {
        const json data = session.ask("vnic.show", {{"name", *name}});
        if (session.print_json(data))
            return;
        std::cout << vnic_text(data, session.ask("status").value("accounting", "wire"), terminal_of_stdout());
    });
}

void add_set(CLI::App& vnic, Session& session) {
    auto name = std::make_shared<std::string>();
    auto pairs = std::make_shared<std::vector<std::string>>();
    CLI::App* set = vnic.add_subcommand("set",
                                        "change guarantee, reservation, size, time, limit, limit_pps, "
                                        "shares, cycle_shares, buffers, encrypt_limit, "
                                        "and of its part of an appliance DISK.limit, DISK.shares, ...");
    set->add_option("NAME", *name)->required();
    set->add_option("KEY=VALUE", *pairs, "such as limit=2Gbit, shares=200, limit=none, disk.limit=5ktokens")
        ->required();
    set->callback([&session, name, pairs] {
        done(session, session.ask("vnic.set", {{"name", *name}, {"change", object_of_pairs(*pairs)}}),
             *name + " changed");
    });
}

void add_add(CLI::App& vnic, Session& session) {
    auto arguments = std::make_shared<std::vector<std::string>>();
    CLI::App* add = vnic.add_subcommand("add", "add a vNIC while traffic flows");
    add->add_option("FILE|JSON|KEY=VALUE", *arguments,
                    "a file (- is standard input), an object, or pairs as in the configuration")
        ->required();
    add->callback([&session, arguments] {
        const json object = vnic_of_arguments(*arguments);
        const json data = session.ask("vnic.add", {{"vnic", object}});
        done(session, data,
             (object.contains("name") && object["name"].is_string() ? object["name"].get<std::string>()
                                                                    : "vNIC") +
                 " added");
    });
}

void add_remove(CLI::App& vnic, Session& session) {
    auto name = std::make_shared<std::string>();
    CLI::App* remove = vnic.add_subcommand("remove", "remove a vNIC; nobody else's traffic notices");
    remove->add_option("NAME", *name)->required();
    remove->callback([&session, name] {
        done(session, session.ask("vnic.remove", {{"name", *name}}), *name + " removed");
    });
}

}  // namespace

void add_vnic_commands(CLI::App& app, Session& session) {
    CLI::App* vnic = app.add_subcommand("vnic", "list, show, set, add, remove vNICs");
    require_command(*vnic);
    add_list(*vnic, session);
    add_show(*vnic, session);
    add_set(*vnic, session);
    add_add(*vnic, session);
    add_remove(*vnic, session);
}

}  // namespace weir::cli
