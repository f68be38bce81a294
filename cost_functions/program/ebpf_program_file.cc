// ebpf_program_file.cc - reader of ELF objects, just enough to find one section that has no relocations.
#include <elf.h>

#include <bit>
#include <cstring>
#include <optional>

#include "common/config/config_text.h"
#include "cost_functions/program/ebpf_program.h"

namespace weir {
namespace {

static_assert(std::endian::native == std::endian::little, "instructions are used as they are in the file");

constexpr std::size_t kSectionsMax = 1'000;

class Elf {
  public:
    explicit Elf(std::string_view bytes) : bytes_(bytes) {}

    /// The bytes are an object for eBPF with a whole table of sections.
    [[nodiscard]] bool readable() {
        if (!copy(0, header_) || header_.e_ident[EI_CLASS] != ELFCLASS64 ||
            header_.e_ident[EI_DATA] != ELFDATA2LSB || header_.e_machine != EM_BPF)
            return false;
        if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shnum > kSectionsMax ||
            header_.e_shstrndx >= header_.e_shnum)
            return false;
        return contents(header_.e_shoff, std::uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr)).has_value();
    }

    [[nodiscard]] std::size_t sections() const { return header_.e_shnum; }
    [[nodiscard]] Elf64_Shdr section(std::size_t i) const {
        Elf64_Shdr section{};
        (void)copy(header_.e_shoff + i * sizeof section, section);
        return section;
    }
    [[nodiscard]] std::string_view name(const Elf64_Shdr& section) const {
        const Elf64_Shdr strings = this->section(header_.e_shstrndx);
        const std::optional<std::string_view> all = contents(strings.sh_offset, strings.sh_size);
        if (!all || section.sh_name >= all->size())
            return {};
        const std::string_view rest = all->substr(section.sh_name);
        return rest.substr(0, rest.find('\0'));
    }
    [[nodiscard]] std::optional<std::string_view> contents(std::uint64_t offset, std::uint64_t size) const {
        if (offset > bytes_.size() || size > bytes_.size() - offset)
            return std::nullopt;
        return bytes_.substr(offset, size);
    }

  private:
    template <typename T>
    [[nodiscard]] bool copy(std::uint64_t offset, T& out) const {
        const std::optional<std::string_view> from = contents(offset, sizeof out);
        if (from)
            std::memcpy(&out, from->data(), sizeof out);
        return from.has_value();
    }

    std::string_view bytes_;
    Elf64_Ehdr header_{};
};

std::variant<std::vector<ebpf_insn>, Fault> instructions(std::string_view bytes, const std::string& name) {
    if (bytes.empty() || bytes.size() % sizeof(ebpf_insn) != 0)
        return Fault{name, std::to_string(bytes.size()) + " bytes",
                     "an ELF object for eBPF, or instructions of 8 bytes", "this is no program"};
    std::vector<ebpf_insn> out(bytes.size() / sizeof(ebpf_insn));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
}

std::variant<std::vector<ebpf_insn>, Fault> from_elf(std::string_view bytes, const std::string& name) {
    Elf elf(bytes);
    if (!elf.readable())
        return Fault{name, "another ELF file", "a whole object of clang -target bpf, 64 bits, little endian",
                     "this is no eBPF object"};
    std::string others;
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < elf.sections(); ++i) {
        const Elf64_Shdr section = elf.section(i);
        if (section.sh_type != SHT_PROGBITS || (section.sh_flags & SHF_EXECINSTR) == 0)
            continue;
        const std::string_view title = elf.name(section);
        others += (others.empty() ? "" : ", ") + show_text(title);
        if (title == kProgramSection && !found)
            found = i;
    }
    if (!found)
        return Fault{name, others.empty() ? "no code" : show_text(others), "code in a section \"cost\"",
                     "mark the function with __attribute__((section(\"cost\")))"};
    for (std::size_t i = 0; i < elf.sections(); ++i) {
        const Elf64_Shdr section = elf.section(i);
        if ((section.sh_type == SHT_REL || section.sh_type == SHT_RELA) && section.sh_size > 0 &&
            section.sh_info == *found)
            return Fault{name, "relocations in " + show_text(elf.name(section)),
                         "code that refers to nothing outside of itself",
                         "it calls a function or uses a global variable; use static inline and constants"};
    }
    const Elf64_Shdr section = elf.section(*found);
    const std::optional<std::string_view> code = elf.contents(section.sh_offset, section.sh_size);
    if (!code)
        return Fault{name, "a section beyond the end of the file", "a whole file", "the file was cut off"};
    return instructions(*code, name);
}

}  // namespace

std::variant<std::vector<ebpf_insn>, Fault> instructions_of(std::string_view bytes, const std::string& name) {
    return bytes.starts_with(std::string_view(ELFMAG, SELFMAG)) ? from_elf(bytes, name)
                                                                : instructions(bytes, name);
}

}  // namespace weir
