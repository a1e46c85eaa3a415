package blueprints

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var nameText = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// sectionHints say what each section is for, in a new blueprint.
var sectionHints = map[string]string{
	"1":  "What this mechanism does, told so that a newcomer understands it, and where it ends.",
	"2":  "What each structure is for. The layout below is generated from the header's structures.",
	"3":  "What happens, step by step, in the order in which it happens. Each sentence about the kernel ends in a marker such as %s-R1 in square brackets.",
	"4a": "What holds, and what would show that it does not.",
	"4b": "What protects what, and in which order locks are taken.",
	"4c": "From which contexts each part may be called.",
	"5":  "What can be seen from outside. The blocks below are generated from the header's evidence.",
	"6":  "What goes wrong, and what is seen then.",
	"7":  "What the functions promise. Their declarations below are generated.",
	"8":  "What depends on the configuration, the architecture, the page size.",
	"9":  "What somebody who builds it again must keep, and what is an accident of this code.",
}

// New writes a new blueprint, NAME.md and NAME.refs.toml, into a folder: nine
// sections to fill in, with the status stub. It makes the folder if there is
// none, and refuses to replace a file.
func New(dir, name, title string) (file string, err error) {
	if !nameText.MatchString(name) {
		return "", fmt.Errorf("the name %q: expected lower-case words joined by hyphens, such as trace-ring-buffer", name)
	}
	if strings.TrimSpace(title) == "" {
		return "", errors.New("a blueprint needs a title")
	}
	file = filepath.Join(dir, name+".md")
	refs := filepath.Join(dir, name+".refs.toml")
	for _, f := range []string{file, refs} {
		if _, err := os.Lstat(f); err == nil {
			return "", fmt.Errorf("%s is there already", f)
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "+++\ntitle = %q\nname = %q\nstatus = \"stub\"\nreviewer = \"\"\nversions = []\nevidence = []\nbtf = []\nstructures = []\nfunctions = []\nsummary = \"\"\n+++\n\n# %s\n", title, name, title)
	for _, t := range titles {
		fmt.Fprintf(&b, "\n%s\n", heading(t.id))
		if hint := sectionHints[t.id]; hint != "" {
			if strings.Contains(hint, "%s") {
				hint = fmt.Sprintf(hint, name)
			}
			fmt.Fprintf(&b, "\n*%s*\n", hint)
		}
	}
	bp, faults := Parse(file, []byte(b.String()))
	if len(faults) > 0 {
		return "", faults[0]
	}
	text, faults := bp.fill([]want{{section: "2", text: nothingYet}, {section: "5", text: nothingYet}, {section: "7", text: nothingYet}})
	if len(faults) > 0 {
		return "", faults[0]
	}
	if err := writeWhole(refs, []byte(refsTemplate(name)), 0o644); err != nil {
		return "", err
	}
	return file, writeWhole(file, []byte(text), 0o644)
}

func refsTemplate(name string) string {
	return fmt.Sprintf(`# What the blueprint %[1]s says about the kernel, and where the kernel says it.
# One record for each marker in %[1]s.md; docs/citations.md tells what a record may say.
#
#   [[references]]
#   id = "%[1]s-R1"
#   path = "kernel/trace/ring_buffer.c"
#   symbol = "rb_handle_head_page"
#   anchor = "local_add(entries, &cpu_buffer->overrun);"
#   note = "In your own words: what this line proves."

schema = 2
`, name)
}
