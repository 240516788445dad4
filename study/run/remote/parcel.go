package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/plan"
)

// parcel describes an experiment for another machine. It has the experiment as given, so that its runs keep their
// ids. It names files by the hash of their contents, so that the other machine does not read its own files.
type parcel struct {
	Format   int      `json:"format"`
	Name     string   `json:"experiment"`
	Text     string   `json:"text"` // hash of the experiment's file
	Set      []string `json:"set,omitempty"`
	Seed     *uint64  `json:"seed,omitempty"`
	Quick    bool     `json:"quick,omitempty"`
	Resolved bool     `json:"resolved,omitempty"`
	Machine  float64  `json:"machine,omitempty"` // memory in bytes of the machine that runs must fit
	// Folder is the path of the experiment's file in the parcel. It is deep enough that all input names with ".." stay
	// inside.
	Folder string  `json:"folder"`
	Inputs []input `json:"inputs"`
}

// input is a file that an experiment names.
type input struct {
	Name string `json:"name"` // path in the parcel, from parcel.inputPath
	Hash string `json:"sha256"`
	Size int    `json:"bytes"`
}

// parcelFormat is the version of the format that this program writes and reads.
const parcelFormat = 2

// Roots of the parcel's paths: for the experiment's folder, and for inputs with absolute names.
const (
	relativeRoot = "files"
	absoluteRoot = "absolute"
)

// experimentPath returns a folder from which all relative names stay inside the parcel.
func experimentPath(names []string) string {
	folder := relativeRoot
	for _, name := range names {
		for !filepath.IsAbs(name) && !filepath.IsLocal(folder+"/"+name) && len(folder) < maxPath {
			folder += "/0"
		}
	}
	return folder
}

// inputPath returns the path in the parcel of an input with the given name.
func (p *parcel) inputPath(name string) string {
	if filepath.IsAbs(name) {
		return absoluteRoot + "/" + name
	}
	return p.Folder + "/" + name
}

// maxPath limits the length of paths in a parcel, in bytes [PATH_MAX of Linux].
const maxPath = 4096

// checkPath returns an error unless the path names a file inside the parcel, has up to maxPath bytes and no control
// characters.
func checkPath(path string) error {
	if !filepath.IsLocal(path) || len(path) > maxPath || strings.ContainsFunc(path, unicode.IsControl) {
		return fmt.Errorf("the file is not one that weir writes: the path %s leads out of the parcel",
			document.ShortenName(path))
	}
	return nil
}

// IsDigest reports whether s has the form of a digest: 64 hexadecimal digits.
func IsDigest(s string) bool {
	return len(s) == hex.EncodedLen(sha256.Size) && strings.Trim(s, "0123456789abcdef") == ""
}

// Digest returns the SHA-256 of data in hexadecimal.
func Digest(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// PackParcel returns the manifest of an experiment's parcel as JSON, and its files by digest.
func PackParcel(s *experiment.Spec) (manifest []byte, files map[string][]byte) {
	src, o := s.LoadedFrom()
	inputs := s.Inputs()
	names := slices.Sorted(maps.Keys(inputs))
	p := parcel{Format: parcelFormat, Name: s.Name(), Text: Digest(src.Data), Set: o.Set, Seed: o.Seed, Quick: o.Quick,
		Resolved: o.Resolved, Machine: o.Machine, Folder: experimentPath(names), Inputs: []input{}}
	files = map[string][]byte{p.Text: src.Data}
	for _, name := range names {
		hash := Digest(inputs[name])
		files[hash] = inputs[name]
		p.Inputs = append(p.Inputs, input{p.inputPath(name), hash, len(inputs[name])})
	}
	manifest, _ = json.Marshal(p) // strings and numbers can always be encoded
	return manifest, files
}

// UnpackParcel loads the experiment of a parcel. The function fetch returns a file by its digest, which UnpackParcel
// verifies. The experiment can read only files of the parcel, not files of this machine. A parcel is invalid if a path
// leads outside, if two files have one path, or if the experiment does not name one of the files.
func UnpackParcel(r *experiment.Registry, manifest []byte, fetch func(digest string) ([]byte, error)) (*experiment.Spec,
	error) {
	p, inputs, err := decodeManifest(manifest)
	if err != nil {
		return nil, err
	}
	get := func(digest string) ([]byte, error) {
		if !IsDigest(digest) {
			return nil, fmt.Errorf("the file is not one that weir writes: no file has the hash %q", document.ShortenName(digest))
		}
		data, err := fetch(digest)
		if err == nil && Digest(data) != digest {
			err = fmt.Errorf("its content has the hash %s instead of %s", Digest(data), digest)
		}
		return data, err
	}
	text, err := get(p.Text)
	if err != nil {
		return nil, fmt.Errorf("the experiment %s: %w", p.Name, err)
	}
	src := &experiment.Source{Name: p.Name, File: p.Name + ".yaml", Data: text, Open: func(name string) ([]byte, error) {
		in, ok := inputs[p.inputPath(name)]
		if !ok {
			return nil, fmt.Errorf("the parcel of the experiment does not have the file %q", name)
		}
		data, err := get(in.Hash)
		if err == nil && len(data) != in.Size {
			err = fmt.Errorf("the file has %d bytes, but %d in the parcel", len(data), in.Size)
		}
		return data, err
	}}
	s, err := plan.Load(r, src, experiment.Options{Set: p.Set, Seed: p.Seed, Quick: p.Quick, Resolved: p.Resolved,
		Machine: p.Machine})
	if err != nil {
		return nil, err
	}
	for name := range s.Inputs() {
		delete(inputs, p.inputPath(name))
	}
	for _, path := range slices.Sorted(maps.Keys(inputs)) {
		return nil, fmt.Errorf("the file is not one that weir writes: the experiment does not name the file %s",
			document.ShortenName(path))
	}
	return s, nil
}

// decodeManifest decodes and checks a manifest. It returns the parcel and its inputs by path. Unknown keys, another
// format, paths that lead outside and repeated paths are errors.
func decodeManifest(manifest []byte) (*parcel, map[string]input, error) {
	var p parcel
	d := json.NewDecoder(bytes.NewReader(manifest))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return nil, nil, fmt.Errorf("the file is not a parcel of an experiment: %w", err)
	}
	if p.Format != parcelFormat {
		return nil, nil, fmt.Errorf("the parcel has format %d of another version of weir; this version supports %d", p.Format,
			parcelFormat)
	}
	for _, path := range []string{p.Name, p.Folder} {
		if err := checkPath(path); err != nil {
			return nil, nil, err
		}
	}
	inputs := map[string]input{}
	for _, in := range p.Inputs {
		if err := checkPath(in.Name); err != nil {
			return nil, nil, err
		}
		if _, there := inputs[in.Name]; there {
			return nil, nil, fmt.Errorf("the file is not one that weir writes: the path %s occurs twice",
				document.ShortenName(in.Name))
		}
		inputs[in.Name] = in
	}
	return &p, inputs, nil
}
