package docsite

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/atomicfile"
)

//go:embed assets
var assets embed.FS

var frame = template.Must(template.ParseFS(assets, "assets/page.html.tmpl"))

// buildFiles returns all files of the site by path. The result depends only on the pages.
func (s *Website) buildFiles() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, p := range s.Pages {
		var b bytes.Buffer
		if err := frame.Execute(&b, s.newView(p)); err != nil {
			return nil, fmt.Errorf("%s: %w", p.File, err)
		}
		files[p.Path] = b.Bytes()
	}
	for name := range s.attached {
		data, err := fs.ReadFile(s.files, name)
		if err != nil {
			return nil, err
		}
		files[sitePath(name)] = data
	}
	for _, name := range []string{"site.css", "search.js"} {
		data, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return nil, err
		}
		files["assets/"+name] = data
	}
	index, err := s.buildIndex()
	if err != nil {
		return nil, err
	}
	files["assets/index.js"] = slices.Concat([]byte("window.weirIndex = "), index, []byte(";\n"))
	return files, nil
}

// indexEntry is a section in the search index.
type indexEntry struct {
	Page    string `json:"page"` // the page's title
	Path    string `json:"path"` // relative to the site's folder, with the anchor
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

// buildIndex returns the search index as JSON: a list of all sections of all pages.
func (s *Website) buildIndex() ([]byte, error) {
	var all []indexEntry
	for _, p := range s.Pages {
		for _, part := range p.Sections {
			at := p.Path
			if part.ID != "" {
				at += "#" + part.ID
			}
			all = append(all, indexEntry{p.Title, at, part.Heading, part.Text})
		}
	}
	return json.Marshal(all) // with < as \u003c
}

// view is the data of the page frame.
type view struct {
	*Page
	Root string // relative path to the site's folder: "", "../"
	Nav  []entry
	Next *entry // the page after this one
}

// entry is a page in the list of pages.
type entry struct {
	Title, Link string
	Here        bool
	Parts       []Heading // headings of the shown page
}

// newView returns the data of the frame around a page.
func (s *Website) newView(p *Page) view {
	v := view{Page: p, Root: strings.Repeat("../", strings.Count(p.Path, "/"))}
	for i, other := range s.Pages {
		e := entry{Title: other.Title, Link: relativeURL(p.Path, other.Path), Here: other == p}
		if e.Here {
			for _, h := range p.Headings {
				if h.Level == 2 {
					e.Parts = append(e.Parts, h)
				}
			}
		}
		v.Nav = append(v.Nav, e)
		if i > 0 && s.Pages[i-1] == p {
			v.Next = &v.Nav[i]
		}
	}
	return v
}

// mark is the file that identifies a folder with a site, and lists its other files.
const mark = "weir-docs.txt"

const markHead = "Written by weir docs --site, which overwrites these files:\n"

// writeSite writes the site into a folder that is new, empty or has a site; any other folder is an error. It removes
// files of the old site that are no longer part of it.
func (s *Website) writeSite(dir string) error {
	files, err := s.buildFiles()
	if err != nil {
		return err
	}
	old, err := listOld(dir)
	if err != nil {
		return err
	}
	for _, name := range old {
		if _, stays := files[name]; !stays {
			if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	names := slices.Sorted(maps.Keys(files))
	if err := saveFile(dir, mark, []byte(markHead+strings.Join(names, "\n")+"\n")); err != nil {
		return err
	}
	for _, name := range names {
		if err := saveFile(dir, name, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// saveFile writes a file of the site and creates its folder.
func saveFile(dir, name string, data []byte) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(file, data)
}

// listOld returns the files of the site in a folder, nil for a new or empty one. It returns an error if the folder has
// other files.
func listOld(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case len(entries) == 0:
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Join(dir, mark))
	list, ours := strings.CutPrefix(string(data), markHead)
	if err != nil || !ours {
		return nil, fmt.Errorf("%s contains files and is not a site of weir docs (%s is missing); name a new or an empty "+
			"folder",
			dir, mark)
	}
	var names []string
	for name := range strings.Lines(list) {
		name = strings.TrimSuffix(name, "\n")
		if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name {
			return nil, fmt.Errorf("%s lists %q, which is not a file of its folder", filepath.Join(dir, mark), name)
		}
		names = append(names, name)
	}
	return names, nil
}
