package blueprints

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	imageText = regexp.MustCompile(`!\[([^\]]*)\]\(([^)\s]*)[^)]*\)`)
	linkText  = regexp.MustCompile(`(?:^|[^!\\])\[[^\]]*\]\(([^)\s]+)[^)]*\)`)
)

// files checks that pictures and files that the document links are there, and
// that pictures have a text for those who do not see them.
func (c *checker) files() {
	var code fence
	for n := 1; n <= len(c.bp.lines); n++ {
		line := c.bp.Line(n)
		if code.step(line) {
			continue
		}
		line = stripCode(line)
		for _, m := range imageText.FindAllStringSubmatch(line, -1) {
			if strings.TrimSpace(m[1]) == "" {
				c.fail(n, RuleImage, "", "the picture %s has no text for those who do not see it", m[2])
			}
			if why := c.missing(m[2]); why != "" {
				c.fail(n, RuleImage, "", "the picture %s %s", m[2], why)
			}
		}
		for _, m := range linkText.FindAllStringSubmatch(line, -1) {
			if why := c.missing(m[1]); why != "" {
				c.fail(n, RuleLink, "", "the link to %s %s", m[1], why)
			}
		}
	}
}

var codeSpan = regexp.MustCompile("`[^`]*`")

// stripCode blanks code spans, in which brackets are no links.
func stripCode(line string) string {
	return codeSpan.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat(" ", len(s)) })
}

// missing says what is wrong with a relative link; "" if nothing, or if it is
// not one.
func (c *checker) missing(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return "cannot be read as a link"
	}
	if u.Scheme != "" || u.Host != "" || u.Path == "" {
		return ""
	}
	if path.IsAbs(u.Path) {
		return "is an absolute path, which is only right on one machine"
	}
	if _, err := os.Stat(filepath.Join(c.bp.Dir(), filepath.FromSlash(u.Path))); err != nil {
		return "leads nowhere: " + reason(err).Error()
	}
	return ""
}
