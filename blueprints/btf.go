package blueprints

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/cilium/ebpf/btf"
)

// RunningBTF is where a running kernel shows its own types.
const RunningBTF = "/sys/kernel/btf/vmlinux"

// maxRawBTF bounds a raw BTF file, in bytes; a distribution's kernel has about
// 5 MiB of it.
const maxRawBTF = 256 << 20

// BTF is the type information of one kernel build: Documentation/bpf/btf.rst.
type BTF struct {
	// Path is the file as it goes into a provenance line.
	Path string
	// SHA256 is of the file's bytes.
	SHA256 string
	// Kernel is the release as uname -r prints it, Version the number of the
	// source tree (6.1.192), Arch what uname -m prints. Empty if not known: BTF
	// itself names none of them.
	Kernel, Version, Arch string
	// Evidence is false where a person wrote the types.
	Evidence bool

	spec    *btf.Spec
	pointer int // bytes
	// A cut blob holds some names only; have and absent are those that it was
	// asked for and that the kernel had, or had not.
	cut          bool
	have, absent []string
	origin       string // SHA256 of what it was cut from
}

// cutInfo is the file beside a blob, NAME.btf.toml: what BTF itself cannot say.
type cutInfo struct {
	Kernel       string   `toml:"kernel"`
	Version      string   `toml:"version,omitempty"`
	Arch         string   `toml:"arch"`
	Origin       string   `toml:"origin,omitempty"`        // in words
	OriginSHA256 string   `toml:"origin_sha256,omitempty"` // of the whole BTF
	Evidence     *bool    `toml:"evidence,omitempty"`      // default true
	Structures   []string `toml:"structures,omitempty"`
	Functions    []string `toml:"functions,omitempty"`
	Absent       []string `toml:"absent,omitempty"` // asked for; this kernel has no such name
}

// OpenBTF reads the types of a kernel from /sys/kernel/btf/vmlinux, a vmlinux
// (ELF) or a raw blob such as [CutBTF] writes. What BTF does not say of its
// kernel is taken from NAME.toml beside the file, from the banner of a vmlinux,
// or, for the running kernel, from /proc.
func OpenBTF(path string) (*BTF, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := &BTF{Path: filepath.ToSlash(path), Evidence: true}
	magic := make([]byte, 4)
	if _, err := io.ReadFull(f, magic); err != nil {
		return nil, fmt.Errorf("%s: too short to hold BTF: %w", path, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if string(magic) == elf.ELFMAG {
		err = b.readELF(f)
	} else {
		err = b.readRaw(f)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := b.describe(path); err != nil {
		return nil, err
	}
	b.pointer, err = pointerSize(b.spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// readRaw reads a blob that begins with BTF's own header. sysfs files tell no
// true size, so it is read whole.
func (b *BTF) readRaw(r io.Reader) error {
	raw, err := io.ReadAll(io.LimitReader(r, maxRawBTF+1))
	if err != nil {
		return err
	}
	if len(raw) > maxRawBTF {
		return fmt.Errorf("more than %d bytes of BTF", maxRawBTF)
	}
	if !bytes.HasPrefix(raw, []byte{0x9f, 0xeb}) && !bytes.HasPrefix(raw, []byte{0xeb, 0x9f}) {
		return fmt.Errorf("found % x at the beginning, expected an ELF file or BTF (magic 0xeb9f)", raw[:min(4, len(raw))])
	}
	sum := sha256.Sum256(raw)
	b.SHA256 = hex.EncodeToString(sum[:])
	b.spec, err = btf.LoadSpecFromReader(bytes.NewReader(raw))
	return err
}

func (b *BTF) readELF(f *os.File) error {
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	b.SHA256 = hex.EncodeToString(h.Sum(nil))
	ef, err := elf.NewFile(f)
	if err != nil {
		return err
	}
	if ef.Section(".BTF") == nil {
		return errors.New("this ELF file has no .BTF section: a kernel built without CONFIG_DEBUG_INFO_BTF, or stripped")
	}
	b.Arch = elfArch[ef.Machine]
	if s := ef.Section(".rodata"); s != nil {
		b.Kernel = banner(s.Open())
	}
	b.spec, err = btf.LoadSpecFromReader(f)
	return err
}

// elfArch names the machines of an ELF file as uname -m does.
var elfArch = map[elf.Machine]string{
	elf.EM_X86_64: "x86_64", elf.EM_386: "i386", elf.EM_AARCH64: "aarch64", elf.EM_ARM: "arm",
	elf.EM_S390: "s390x", elf.EM_PPC64: "ppc64le", elf.EM_RISCV: "riscv64", elf.EM_LOONGARCH: "loongarch64",
}

// goArch names Go's architectures as uname -m does.
var goArch = map[string]string{
	"amd64": "x86_64", "386": "i386", "arm64": "aarch64", "arm": "arm", "s390x": "s390x",
	"ppc64le": "ppc64le", "ppc64": "ppc64", "riscv64": "riscv64", "loong64": "loongarch64",
}

// "Linux version 6.12.117+deb12-amd64 (…"; linux_banner in init/version.c.
var bannerText = regexp.MustCompile(`Linux version ([0-9]+\.[0-9][^ %\x00]*) \(`)

// banner finds the release in a vmlinux's read-only data.
func banner(r io.Reader) string {
	const chunk, overlap = 1 << 20, 256
	buf := make([]byte, 0, chunk+overlap)
	for {
		n, err := io.ReadFull(r, buf[len(buf):len(buf)+chunk])
		buf = buf[:len(buf)+n]
		if m := bannerText.FindSubmatch(buf); m != nil {
			return string(m[1])
		}
		if err != nil {
			return ""
		}
		keep := min(overlap, len(buf))
		copy(buf[:keep], buf[len(buf)-keep:])
		buf = buf[:keep]
	}
}

// describe fills in what the types themselves do not say.
func (b *BTF) describe(path string) error {
	var info cutInfo
	meta, err := toml.DecodeFile(path+".toml", &info)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return fmt.Errorf("%s.toml: %w", path, err)
	case len(meta.Undecoded()) > 0:
		return fmt.Errorf("%s.toml: unknown key %q", path, meta.Undecoded()[0])
	default:
		b.Kernel, b.Version, b.Arch = info.Kernel, info.Version, info.Arch
		b.Evidence = info.Evidence == nil || *info.Evidence
		b.cut = len(info.Structures)+len(info.Functions)+len(info.Absent) > 0
		b.origin = info.OriginSHA256
		b.have, b.absent = append(info.Structures, info.Functions...), info.Absent
		return nil
	}
	if path == RunningBTF {
		b.Arch = goArch[runtime.GOARCH]
		if rel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
			b.Kernel = strings.TrimSpace(string(rel))
		}
	}
	return nil
}

// Label is how a table's head names this kernel: by the version of its source,
// else by its release.
func (b *BTF) Label() string {
	switch {
	case b.Version != "":
		return b.Version
	case b.Kernel != "":
		return b.Kernel
	}
	return filepath.Base(b.Path)
}

// Source is the provenance of what is made from b.
func (b *BTF) Source() Source {
	return Source{Kind: "btf", Path: b.Path, SHA256: b.SHA256, Kernel: b.Kernel, Arch: b.Arch, Evidence: b.Evidence}
}

// notCut says that a cut blob was never asked for a name, so that its absence
// means nothing.
func (b *BTF) notCut(name string) bool {
	return b.cut && !slices.Contains(b.have, name) && !slices.Contains(b.absent, name)
}

// pointerSize is the size of a pointer of the kernel that spec describes: BTF
// records none, and on every Linux machine it is that of unsigned long.
func pointerSize(spec *btf.Spec) (int, error) {
	i, err := unsignedLong(spec)
	if err != nil {
		return 0, err
	}
	return int(i.Size), nil
}

func unsignedLong(spec *btf.Spec) (*btf.Int, error) {
	for _, name := range []string{"long unsigned int", "unsigned long"} {
		types, err := spec.AnyTypesByName(name)
		if err != nil {
			continue
		}
		for _, t := range types {
			if i, ok := t.(*btf.Int); ok && (i.Size == 4 || i.Size == 8) {
				return i, nil
			}
		}
	}
	return nil, errors.New("these types have no unsigned long, so the size of a pointer is not known: not the BTF of a kernel")
}
