package live

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Discover finds the tracefs. The error is a [*MountError].
func Discover() (*Mount, error) {
	return discover("/proc", "")
}

// At takes path as the tracefs.
func At(path string) (*Mount, error) { return discover("/proc", path) }

func discover(proc, want string) (*Mount, error) {
	if want != "" {
		return try(want)
	}
	found, err := tracefsMounts(filepath.Join(proc, "self/mountinfo"))
	if err != nil {
		return nil, &MountError{Reason: NotMounted, Detail: "the list of mounts cannot be read: " + err.Error(), Hint: "mount /proc", Err: err}
	}
	var first error
	for _, path := range found {
		m, err := try(path)
		if err == nil {
			return m, nil
		}
		if first == nil {
			first = err
		}
	}
	if first != nil {
		return nil, first
	}
	return nil, unmounted(proc)
}

// unmounted says why there is no tracefs in the list of mounts.
func unmounted(proc string) error {
	known, err := os.ReadFile(filepath.Join(proc, "filesystems"))
	if err == nil && !strings.Contains(string(known), "\ttracefs\n") {
		return &MountError{Reason: NotBuiltIn, Detail: "the kernel knows no file system of that name (CONFIG_TRACING is off)", Hint: "another kernel is needed"}
	}
	e := &MountError{Reason: NotMounted, Detail: "no tracefs is mounted in this mount namespace", Hint: "as root: mount -t tracefs nodev /sys/kernel/tracing"}
	if c := container(); c != "" {
		e.Detail += "; this is a container (" + c + ")"
		e.Hint = "give the container the host's: -v /sys/kernel/tracing:/sys/kernel/tracing (and --privileged, or CAP_SYS_ADMIN and CAP_BPF)"
	}
	return e
}

// tracefsMounts are the mount points of tracefs, /sys/kernel/tracing first, and
// debugfs's tracing folders last: looking there mounts it.
func tracefsMounts(mountinfo string) ([]string, error) {
	b, err := os.ReadFile(mountinfo)
	if err != nil {
		return nil, err
	}
	var first, rest, debug []string
	for line := range strings.Lines(string(b)) {
		// 24 29 0:23 / /sys/kernel/tracing rw,relatime shared:9 - tracefs nodev rw
		f := strings.Fields(line)
		sep := -1
		for i := 6; i < len(f); i++ {
			if f[i] == "-" {
				sep = i
				break
			}
		}
		if len(f) < 7 || sep < 0 || sep+1 >= len(f) {
			continue
		}
		at := unescapeMount(f[4])
		switch f[sep+1] {
		case "tracefs":
			if f[3] != "/" {
				continue // a folder of it, bound somewhere: no tracefs of its own
			}
			if at == "/sys/kernel/tracing" {
				first = append(first, at)
			} else {
				rest = append(rest, at)
			}
		case "debugfs":
			debug = append(debug, filepath.Join(at, "tracing"))
		}
	}
	return append(append(first, rest...), debug...), nil
}

// unescapeMount undoes the octal escapes of mountinfo (\040 for a blank).
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			var n int
			ok := true
			for _, c := range s[i+1 : i+4] {
				ok = ok && c >= '0' && c <= '7'
				n = n*8 + int(c-'0')
			}
			if ok {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// try looks whether path is a tracefs that can be read.
func try(path string) (*Mount, error) {
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, refused(path, err)
	case err != nil:
		return nil, &MountError{Reason: NotATracefs, Path: path, Detail: err.Error(), Hint: "name another folder", Err: err}
	case len(entries) == 0:
		e := &MountError{Reason: Empty, Path: path, Detail: "the folder has no files: the kernel refused to make them", Hint: "tracing is disabled (tracing off on the kernel's command line)"}
		if l := lockdown(); l != "" {
			e.Reason, e.Detail = Lockdown, "the folder has no files, and the kernel is locked down: "+l
			e.Hint = "lockdown=confidentiality forbids tracing; boot with lockdown=integrity or none"
		}
		return nil, e
	}
	if _, err := os.Stat(filepath.Join(path, "per_cpu")); err != nil {
		return nil, &MountError{Reason: NotATracefs, Path: path, Detail: "it has no per_cpu folder", Hint: "name the folder that has", Err: err}
	}
	f, err := os.Open(filepath.Join(path, "trace_clock"))
	if err != nil {
		return nil, refused(path, err)
	}
	f.Close()
	return &Mount{Path: path, FS: os.DirFS(path)}, nil
}

// refused says why a tracefs that is there cannot be read.
func refused(path string, err error) error {
	e := &MountError{Reason: NoPermission, Path: path, Err: err}
	switch l := lockdown(); {
	case errors.Is(err, unix.EPERM) && l != "":
		e.Reason, e.Detail, e.Hint = Lockdown, l, "lockdown=confidentiality forbids tracing; boot with lockdown=integrity or none"
		return e
	case os.Geteuid() != 0:
		e.Detail = fmt.Sprintf("%s, and user %d is not root", closedAt(path), os.Geteuid())
		e.Hint = "run as root, or as root: mount -o remount,gid=GROUP,mode=750 " + path
	default:
		e.Detail = "root is refused: " + err.Error()
		if c := container(); c != "" {
			e.Detail += "; this is a container (" + c + ")"
			e.Hint = "run it with --privileged, or with CAP_DAC_OVERRIDE and CAP_SYS_ADMIN of the initial user namespace"
		}
	}
	return e
}

// closedAt names the folder above (or at) path that is closed to others.
func closedAt(path string) string {
	for at := path; ; at = filepath.Dir(at) {
		up := filepath.Dir(at)
		if up == at {
			break
		}
		if info, err := os.Stat(at); err == nil && info.Mode().Perm()&0o007 == 0 {
			return fmt.Sprintf("%s has mode %04o", at, info.Mode().Perm())
		}
	}
	return "it is closed to others"
}

// lockdown is the active mode as the kernel prints it, "" if there is none.
func lockdown() string {
	b, err := os.ReadFile("/sys/kernel/security/lockdown")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(b), "[")
	mode, _, _ := strings.Cut(rest, "]")
	if mode == "none" {
		return ""
	}
	return mode
}

// container names what tells that this is one, "" if nothing does.
func container() string {
	for _, p := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	if os.Getenv("container") != "" {
		return "container=" + os.Getenv("container")
	}
	if m, err := os.ReadFile("/proc/self/uid_map"); err == nil {
		f := strings.Fields(string(m))
		if len(f) == 3 && (f[0] != "0" || f[1] != "0" || f[2] != "4294967295") {
			return "a user namespace"
		}
	}
	return ""
}
