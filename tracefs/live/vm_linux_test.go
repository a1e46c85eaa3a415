package live

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

// The live tests of this package and of probe, on real Debian kernels in a
// virtual machine: they have kprobes, probes at BPF programs, and other ages.
// Slow (software emulation), so only with RINGAUDIT_VM=1.
func TestVM(t *testing.T) {
	if os.Getenv("RINGAUDIT_VM") != "1" {
		t.Skip("boots virtual machines for some minutes: RINGAUDIT_VM=1 runs it")
	}
	root := fixtures.Root(t)
	script := filepath.Join(root, "..", "shared", "lab", "vm.sh")
	if _, err := os.Stat(script); err != nil {
		t.Skip(err)
	}
	tests := t.TempDir()
	for _, pkg := range []string{"live", "live/probe"} {
		cmd := exec.Command("go", "test", "-c", "-o", filepath.Join(tests, filepath.Base(pkg)+".test"), "./tracefs/"+pkg)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, series := range []string{"6.1", "6.12"} {
		t.Run(series, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(tests)); err != nil {
				t.Fatal(err)
			}
			noVeth := addVeth(script, series, dir)
			command := `export RINGAUDIT_LIVE=require RINGAUDIT_VM=0; rc=0
[ ! -f veth.ko ] || insmod veth.ko || rc=1
./probe.test -test.v -test.timeout 20m || rc=1
./live.test -test.v -test.short -test.timeout 40m -test.skip TestSampleCapture || rc=1
exit $rc`
			cmd := exec.Command(script, series, dir, command)
			cmd.Env = append(os.Environ(), "VM_TIMEOUT=3600")
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
			t.Run("programs on veth", func(t *testing.T) {
				if noVeth != nil {
					t.Skipf("no veth driver for the virtual machine: %v", noVeth)
				}
				for _, name := range []string{"TestXDPProgram", "TestCaptureProgram"} {
					// Skipped subtests leave their parent passed.
					if !bytes.Contains(out, []byte("--- PASS: "+name+" ")) || bytes.Contains(out, []byte("--- SKIP: "+name)) {
						t.Errorf("%s did not run there, or not all of it, and must", name)
					}
				}
			})
		})
	}
}

// addVeth puts veth.ko of the very kernel that the script boots into dir. The
// script loads no network driver: it comes from the same package through apt,
// once, and is kept beside the kernel.
func addVeth(script, series, dir string) error {
	cache := os.Getenv("VM_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		cache = filepath.Join(home, ".cache", "ringaudit-vm")
	}
	kernel := filepath.Join(cache, "linux-"+series)
	name, err := os.ReadFile(filepath.Join(kernel, "package"))
	if errors.Is(err, os.ErrNotExist) { // the first run fetches the kernel
		if out, err := exec.Command(script, series, dir, "true").CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		name, err = os.ReadFile(filepath.Join(kernel, "package"))
	}
	if err != nil {
		return err
	}
	pkg := strings.TrimSpace(string(name))
	kept := filepath.Join(kernel, "veth-"+pkg+".ko")
	module, err := os.ReadFile(kept)
	if errors.Is(err, os.ErrNotExist) {
		if module, err = fetchModule(pkg, "veth", filepath.Join(kernel, "vmlinuz")); err == nil {
			err = errors.Join(os.WriteFile(kept+".part", module, 0o644), os.Rename(kept+".part", kept))
		}
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "veth.ko"), module, 0o644)
}

// fetchModule takes a module out of a Debian kernel package, if the package's
// kernel is the one that is booted.
func fetchModule(pkg, module, vmlinuz string) ([]byte, error) {
	work, err := os.MkdirTemp("", "kernel-package")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	for _, args := range [][]string{{"apt-get", "download", "-qq", pkg}, {"sh", "-c", "dpkg -x ./*.deb x"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = work
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	booted, err := os.ReadFile(vmlinuz)
	if err != nil {
		return nil, err
	}
	images, err := filepath.Glob(filepath.Join(work, "x/boot/vmlinuz-*"))
	if err != nil || len(images) != 1 {
		return nil, fmt.Errorf("%s: %d kernels in it (%v), expected 1", pkg, len(images), err)
	}
	if image, err := os.ReadFile(images[0]); err != nil || !bytes.Equal(image, booted) {
		return nil, fmt.Errorf("%s has another build than %s by now (%v): remove that folder to have both anew", pkg, vmlinuz, err)
	}
	// Under /usr/lib since Debian 13.
	for _, at := range []string{"x/lib", "x/usr/lib"} {
		found, err := filepath.Glob(filepath.Join(work, at, "modules/*/kernel/drivers/net", module+".ko*"))
		if err != nil || len(found) == 0 {
			continue
		}
		b, err := os.ReadFile(found[0])
		if err != nil || !strings.HasSuffix(found[0], ".xz") {
			return b, err
		}
		r, err := xz.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	}
	return nil, fmt.Errorf("%s: no %s.ko in it", pkg, module)
}
