package cli

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func writeThrough(t *testing.T, name, text string) {
	t.Helper()
	if err := streamWhole(name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		t.Fatal(err)
	}
}

// A symbolic link stays a link, and what it points to is written.
func TestOutputThroughALink(t *testing.T) {
	dir := t.TempDir()
	link, target := filepath.Join(dir, "link"), filepath.Join(dir, "target")
	if err := os.Symlink("target", link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	for _, text := range []string{"made", "replaced"} {
		writeThrough(t, link, text)
		info, err := os.Lstat(link)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Fatalf("the link is %v, %v", info, err)
		}
		if b, err := os.ReadFile(target); err != nil || string(b) != text {
			t.Errorf("the target holds %q, %v; want %q", b, err, text)
		}
	}
}

// A device is written to and stays a device.
func TestOutputToADevice(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no device files in folders on Windows")
	}
	writeThrough(t, os.DevNull, "gone")
	info, err := os.Stat(os.DevNull)
	if err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s is now %v, %v", os.DevNull, info.Mode(), err)
	}
	if err := streamWhole(t.TempDir(), func(io.Writer) error { return nil }); err == nil {
		t.Error("a folder was taken for an output file")
	}
}
