package blueprints

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// checkSVG refuses a drawing that is more than one: scripts, event handlers,
// foreign content, and links out of the file. It also has to be well-formed,
// and to say what it shows.
func checkSVG(data []byte) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	depth, root, titled := 0, false, false
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("not well-formed: %w", err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if depth == 0 {
				root = t.Name.Local == "svg"
			}
			if depth++; depth > 256 {
				return errors.New("elements nest without end")
			}
			switch strings.ToLower(t.Name.Local) {
			case "script", "foreignobject", "iframe", "object", "embed", "audio", "video", "handler", "listener":
				return fmt.Errorf("element %s has no place in a drawing", t.Name.Local)
			case "title":
				titled = true
			}
			for _, a := range t.Attr {
				if err := checkSVGAttr(a); err != nil {
					return err
				}
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			if err := checkCSS(string(t)); err != nil {
				return err
			}
		case xml.Directive:
			if strings.Contains(strings.ToUpper(string(t)), "ENTITY") {
				return errors.New("entities have no place in a drawing")
			}
		}
	}
	switch {
	case !root:
		return errors.New("not an SVG drawing")
	case !titled:
		return errors.New("the drawing has no title element that says what it shows")
	}
	return nil
}

func checkSVGAttr(a xml.Attr) error {
	name := strings.ToLower(a.Name.Local)
	switch {
	case strings.HasPrefix(name, "on"):
		return fmt.Errorf("attribute %s has no place in a drawing", a.Name.Local)
	case name == "href" || name == "src":
		if !strings.HasPrefix(a.Value, "#") {
			return fmt.Errorf("%s=%q leads out of the drawing", a.Name.Local, shorten(a.Value))
		}
	case a.Name.Space == "xmlns" || name == "xmlns":
		return nil
	}
	return checkCSS(a.Value)
}

// checkCSS refuses style that would fetch something.
func checkCSS(s string) error {
	low := strings.ToLower(s)
	if strings.Contains(low, "@import") || strings.Contains(low, "javascript:") {
		return fmt.Errorf("%q leads out of the drawing", shorten(s))
	}
	for rest := low; ; {
		_, after, ok := strings.Cut(rest, "url(")
		if !ok {
			return nil
		}
		if !strings.HasPrefix(strings.TrimLeft(after, `"' `), "#") {
			return fmt.Errorf("%q leads out of the drawing", shorten("url("+after))
		}
		rest = after
	}
}
