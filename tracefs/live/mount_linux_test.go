package live

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTracefsMounts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mountinfo")
	text := `22 28 0:20 / /sys rw shared:7 - sysfs sysfs rw
30 22 0:7 / /sys/kernel/debug rw,relatime shared:13 - debugfs debugfs rw
31 30 0:12 / /mnt/my\040traces rw,relatime - tracefs nodev rw
33 30 0:12 /instances/foo /mnt/bound rw,relatime - tracefs nodev rw
32 22 0:12 / /sys/kernel/tracing rw,relatime shared:14 master:1 - tracefs nodev rw
broken line
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := tracefsMounts(file)
	want := []string{"/sys/kernel/tracing", "/mnt/my traces", "/sys/kernel/debug/tracing"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// Why there is no tracefs is told apart.
func TestDiscoverReasons(t *testing.T) {
	proc := t.TempDir()
	if err := os.MkdirAll(filepath.Join(proc, "self"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(proc, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	reason := func(want string) MountReason {
		_, err := discover(proc, want)
		var me *MountError
		if !errors.As(err, &me) {
			t.Fatalf("%v is no MountError", err)
		}
		if me.Detail == "" || !strings.HasPrefix(me.Error(), "tracefs") {
			t.Errorf("%q says nothing", me.Error())
		}
		return me.Reason
	}
	write("self/mountinfo", "22 28 0:20 / /sys rw shared:7 - sysfs sysfs rw\n")
	write("filesystems", "nodev\tsysfs\nnodev\ttracefs\n\text4\n")
	if r := reason(""); r != NotMounted {
		t.Errorf("no mount: %s", r)
	}
	write("filesystems", "nodev\tsysfs\n")
	if r := reason(""); r != NotBuiltIn {
		t.Errorf("not in the kernel: %s", r)
	}
	empty := t.TempDir()
	if r := reason(empty); r != Empty && r != Lockdown {
		t.Errorf("an empty one: %s", r)
	}
	write("self/mountinfo", "31 30 0:12 / "+strings.ReplaceAll(empty, " ", `\040`)+" rw - tracefs nodev rw\n")
	if r := reason(""); r != Empty && r != Lockdown {
		t.Errorf("mounted and empty: %s", r)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "README"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := reason(other); r != NotATracefs {
		t.Errorf("a folder: %s", r)
	}
	if r := reason(filepath.Join(other, "nowhere")); r != NotATracefs {
		t.Errorf("no folder: %s", r)
	}
	if os.Geteuid() == 0 {
		t.Log("run as root: a closed folder cannot be tested")
		return
	}
	closed := filepath.Join(other, "closed")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	if r := reason(closed); r != NoPermission {
		t.Errorf("a closed folder: %s", r)
	}
}

func TestCheckSymbols(t *testing.T) {
	for _, tt := range []struct {
		symbols   []string
		maxactive int
		says      string
	}{
		{[]string{"do_nanosleep"}, 0, ""},
		{[]string{"do_nanosleep%return"}, 1, ""},
		{[]string{"do_nanosleep%return"}, 4096, ""},
		{[]string{"do_nanosleep", "do_nanosleep%return"}, 7, ""},
		{[]string{"do_nanosleep%return"}, 4097, "too big"},
		{[]string{"do_nanosleep%return"}, -1, "expected 1 to 4096"},
		{[]string{"do_nanosleep"}, 7, "not for kprobe"},
		{[]string{"%return"}, 0, "expected a kernel function"},
		{[]string{"x\ny"}, 0, "cannot be"},
	} {
		err := checkSymbols(tt.symbols, tt.maxactive)
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%q maxactive %d: %v, want %q", tt.symbols, tt.maxactive, err, tt.says)
		}
	}
}
