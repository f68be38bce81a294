// completion.cc - weirctl completion: scripts for bash and zsh, and the words that may come next.
//
// The scripts know no command: they ask `weirctl complete -- WORDS`, which walks the same commands and
// options that are parsed, and asks the running switch or controller for names.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

#include "common/config/json_text.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"
#include "ctrl/config/cluster_config.h"

namespace weir::cli {
namespace {

constexpr const char* kBash = R"(# bash completion of weirctl: source <(weirctl completion bash)
_weirctl() {
    local IFS=$'\n'
    COMPREPLY=($(weirctl --timeout 300ms complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _weirctl weirctl
)";

constexpr const char* kZsh = R"(#compdef weirctl
# zsh completion of weirctl: source <(weirctl completion zsh), after compinit
_weirctl() {
    local -a found
    found=("${(@f)$(weirctl --timeout 300ms complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
compdef _weirctl weirctl
)";

/// The words before the cursor, as far as they are understood.
struct Position {
    const CLI::App* command = nullptr;
    std::vector<std::string> positionals{};  ///< of the command so far
    const CLI::Option* pending = nullptr;    ///< its value is next
    std::string socket{};                    ///< of --socket; empty = as without
};

const CLI::Option* find_option(const CLI::App& root, const CLI::App& command, const std::string& name) {
    for (const CLI::App* app : {&command, &root})
        for (const CLI::Option* option : app->get_options())
            if (option->check_name(name) && name.starts_with('-'))
                return option;
    return nullptr;
}

/// @param words without the one that is being written
Position position_after(const CLI::App& root, const std::vector<std::string>& words) {
    Position position{.command = &root};
    for (const std::string& word : words) {
        if (position.pending != nullptr) {
            if (position.pending->check_name("--socket"))
                position.socket = word;
            position.pending = nullptr;
            continue;
        }
        if (word.starts_with('-')) {
            const CLI::Option* option = find_option(root, *position.command, word);
            position.pending = option != nullptr && option->get_items_expected_max() > 0 ? option : nullptr;
            continue;
        }
        const auto next = position.command->get_subcommands(
            [&word](const CLI::App* each) { return each->get_name() == word; });
        if (position.positionals.empty() && !next.empty())
            position.command = next.front();
        else
            position.positionals.push_back(word);
    }
    return position;
}

/// A word of the command line that is a name: "vnic show" has a vNIC as its first positional.
struct NameOf {
    const char* command;
    std::size_t index;
    const char* kind;
};
constexpr NameOf kNames[] = {{"why", 0, "vnic"},
                             {"capture", 0, "port"},
                             {"events", 0, "vnic"},
                             {"flow list", 0, "vnic"},
                             {"vnic show", 0, "vnic"},
                             {"vnic set", 0, "vnic"},
                             {"vnic remove", 0, "vnic"},
                             {"qemu-args", 0, "vnic"},
                             {"libvirt-xml", 0, "vnic"},
                             {"tenant show", 0, "tenant"},
                             {"tenant set", 0, "tenant"},
                             {"tenant remove", 0, "tenant"},
                             {"tenant add-vnic", 0, "tenant"},
                             {"tenant set-vnic", 0, "tenant"},
                             {"tenant set-vnic", 1, "vnic of tenant"},
                             {"tenant remove-vnic", 0, "tenant"},
                             {"tenant remove-vnic", 1, "vnic of tenant"},
                             {"host set", 0, "host"},
                             {"host remove", 0, "host"},
                             {"host drain", 0, "host"},
                             {"appliance set", 0, "appliance"},
                             {"pool show", 0, "appliance"},
                             {"pool set", 0, "pool"},
                             {"pool reset", 0, "pool"},
                             {"completion", 0, "shell"}};

std::vector<std::string> names_in(const json& list) {
    std::vector<std::string> names;
    for (const json& each : list)
        if (at(each, "/name").is_string())
            names.push_back(at(each, "/name"));
    return names;
}

/// Pools, and the vNICs in them.
std::vector<std::string> names_in_pools(const json& pools) {
    std::vector<std::string> names = names_in(pools);
    for (const json& pool : pools)
        for (std::string& vnic : names_in(list_at(pool, "/vnics")))
            names.push_back(std::move(vnic));
    return names;
}

/// @throws Failure: the program does not answer
std::vector<std::string> names_of(const Session& session, std::string_view kind, const Position& position) {
    if (kind == "shell")
        return {"bash", "zsh"};
    if (kind == "vnic" || kind == "port") {
        std::vector<std::string> names = names_in(list_at(session.ask("vnic.list"), "/vnics"));
        if (kind == "port")
            names.emplace_back("uplink");
        return names;
    }
    const json reply = session.ask("specification");
    const json text = at(reply, "/text");
    if (!text.is_string())
        return {};
    const json specification = read_json_text(text.get<std::string>(), kClusterBounds).value;
    if (kind == "host")
        return names_in(list_at(specification, "/topology/hosts"));
    if (kind == "appliance")
        return names_in(list_at(specification, "/appliances"));
    if (kind == "pool")
        return names_in_pools(list_at(specification, "/pools"));
    const json& tenants = list_at(specification, "/tenants");
    if (kind == "tenant")
        return names_in(tenants);
    return names_in(list_at(entry_with(tenants, "/name", position.positionals.front()), "/vnics"));
}

/// The values that an option's help lists in braces: "KEY:{name,offered}".
std::vector<std::string> listed_values(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::size_t from = type.find('{');
    const std::size_t to = type.find('}');
    if (from == std::string::npos || to == std::string::npos || to < from)
        return {};
    return CLI::detail::split(type.substr(from + 1, to - from - 1), ',');
}

std::vector<std::string> candidates(const CLI::App& root, Session& session, const Position& position,
                                    const std::string& begun) {
    std::vector<std::string> found;
    if (position.pending != nullptr)
        return listed_values(*position.pending);
    if (begun.starts_with('-')) {
        for (const CLI::App* app : {position.command, &root})
            for (const CLI::Option* option : app->get_options())
                for (const std::string& name : option->get_lnames())
                    found.push_back("--" + name);
        return found;
    }
    if (!position.positionals.empty() && position.command == &root)
        return {};
    for (const CLI::App* each :
         position.command->get_subcommands([](const CLI::App* app) { return !app->get_group().empty(); }))
        found.push_back(each->get_name());
    const std::string words = words_of(*position.command);
    for (const NameOf& name : kNames) {
        if (words != name.command || position.positionals.size() != name.index)
            continue;
        if (!position.socket.empty())
            session.socket = position.socket;
        return names_of(session, name.kind, position);
    }
    return found;
}

/// @param words the last one is being written
std::vector<std::string> completions(const CLI::App& root, Session& session, std::vector<std::string> words) {
    const std::string begun = words.empty() ? "" : words.back();
    if (!words.empty())
        words.pop_back();
    std::vector<std::string> found;
    try {
        found = candidates(root, session, position_after(root, words), begun);
    } catch (const Failure&) {  // no program answers: there are no names
    }
    std::erase_if(found, [&begun](const std::string& each) { return !each.starts_with(begun); });
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

}  // namespace

void add_completion(CLI::App& command, Session& session) {
    const auto shell = std::make_shared<std::string>();
    command.add_option("SHELL", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
    command.footer(
        "Commands, options, and the names of vNICs, tenants, hosts, appliances and pools that the running\n"
        "switch or controller has.\n"
        "Example:\n"
        "  source <(weirctl completion bash)");
    command.callback([shell] { std::cout << (*shell == "bash" ? kBash : kZsh); });
    CLI::App* const root = command.get_parent();
    CLI::App* complete = root->add_subcommand("complete", "the words that may come next, for the scripts");
    complete->group("");
    const auto words = std::make_shared<std::vector<std::string>>();
    complete->add_option("WORDS", *words);
    complete->callback([root, &session, words] {
        for (const std::string& each : completions(*root, session, *words))
            std::cout << each << '\n';
    });
}

}  // namespace weir::cli
