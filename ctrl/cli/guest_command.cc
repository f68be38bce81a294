// guest_command.cc - weirctl qemu-args, weirctl libvirt-xml.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "ctrl/cli/failure.h"
#include "ctrl/cli/guest_config.h"
#include "ctrl/cli/session.h"
#include "vswitch/config/config.h"

namespace weir::cli {
namespace {

using nlohmann::json;

struct VnicSource {
    std::string name;
    std::string config;  // a file to read instead of asking the switch
};

std::shared_ptr<VnicSource> add_source(CLI::App& command) {
    auto source = std::make_shared<VnicSource>();
    command.add_option("NAME", source->name, "the vNIC")->required();
    command
        .add_option("--config", source->config, "read the vNIC from this file instead of the running switch")
        ->type_name("FILE");
    return source;
}

json vnic_of(const Session& session, const VnicSource& source) {
    if (source.config.empty())
        return session.ask("vnic.show", {{"name", source.name}});
    const auto parsed = load_config(source.config);
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        throw Failure(kExitBadInput, *faults);
    const std::vector<VnicConfig>& vnics = std::get<SwitchConfig>(parsed).vnics;
    const auto it =
        std::find_if(vnics.begin(), vnics.end(), [&](const VnicConfig& v) { return v.name == source.name; });
    if (it == vnics.end())
        throw bad_input("NAME", source.name, "a vNIC of " + source.config, "there is no vNIC of this name");
    return vnic_to_json(*it);
}

}  // namespace

void add_guest_commands(CLI::App& app, Session& session) {
    CLI::App* qemu = app.add_subcommand("qemu-args", "the QEMU arguments that plug a guest into a vNIC");
    const auto qemu_source = add_source(*qemu);
    auto options = std::make_shared<GuestOptions>();
    qemu->add_option("--memory", options->memory, "the guest's memory")
        ->type_name("SIZE")
        ->capture_default_str();
    qemu->add_flag("--tcg", options->tcg, "for software emulation, where KVM does not work");
    qemu->callback([&session, qemu_source, options] {
        const std::vector<std::string> arguments = qemu_arguments(vnic_of(session, *qemu_source), *options);
        if (session.print_json({{"arguments", arguments}}))
            return;
        for (const std::string& argument : arguments)
            std::cout << argument << (&argument == &arguments.back() ? "\n" : " \\\n");
    });
    CLI::App* libvirt =
        app.add_subcommand("libvirt-xml", "the libvirt elements that plug a guest into a vNIC");
    const auto libvirt_source = add_source(*libvirt);
    libvirt->callback([&session, libvirt_source] {
        const std::string xml = libvirt_xml(vnic_of(session, *libvirt_source));
        if (!session.print_json({{"xml", xml}}))
            std::cout << xml;
    });
}

}  // namespace weir::cli
