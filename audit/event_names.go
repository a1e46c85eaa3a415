package audit

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strconv"
)

// eventNames maps the ids of events to their names, as the event folders of a
// tracefs tell them: events/SYSTEM/NAME/id. Ids are given anew at every boot,
// and no id is known beforehand.
type eventNames map[uint16]string

// readEventNames reads the event folders below an instance's folder; where none
// is saved, the map is empty.
func readEventNames(fsys fs.FS, dir string) eventNames {
	names := eventNames{}
	files, err := fs.Glob(fsys, path.Join(dir, "events/*/*/id"))
	if err != nil {
		return names
	}
	for _, f := range files {
		b, err := fs.ReadFile(fsys, f)
		if err != nil {
			continue
		}
		id, err := strconv.ParseUint(string(bytes.TrimSpace(b)), 10, 16)
		if err != nil {
			continue
		}
		event := path.Dir(f)
		names[uint16(id)] = path.Base(path.Dir(event)) + ":" + path.Base(event)
	}
	return names
}

// name is the event's name, "id:N" if it is not known.
func (n eventNames) name(id uint16) string {
	if s, ok := n[id]; ok {
		return s
	}
	return fmt.Sprintf("id:%d", id)
}
