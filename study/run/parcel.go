package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"weir/study/plan"
	"weir/study/spec"
)

// Parcel is an experiment as another machine needs it: all by content, as it was given, so that its runs have the same
// ids. Files are named by the hash of what they have, so that who unpacks it reads none of its own.
type Parcel struct {
	Format   int      `json:"format"`
	Name     string   `json:"experiment"`
	Text     string   `json:"text"` // hash of its file
	Set      []string `json:"set,omitempty"`
	Seed     *uint64  `json:"seed,omitempty"`
	Quick    bool     `json:"quick,omitempty"`
	Resolved bool     `json:"resolved,omitempty"`
	Machine  float64  `json:"machine,omitempty"` // bytes of memory that a run must fit into
	Inputs   []Input  `json:"inputs"`
}

// Input is a file that an experiment names.
type Input struct {
	Name string `json:"name"`
	Hash string `json:"sha256"`
	Size int    `json:"bytes"`
}

// ParcelFormat is what this version packs and unpacks.
const ParcelFormat = 1

// Digest names what bytes are: their SHA-256.
func Digest(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// Pack makes a parcel of an experiment, as JSON, and gives its files by their digests.
func Pack(s *spec.Spec) (manifest []byte, files map[string][]byte) {
	src, o := s.Given()
	inputs := s.Inputs()
	p := Parcel{Format: ParcelFormat, Name: s.Name(), Text: Digest(src.Data), Set: o.Set, Seed: o.Seed, Quick: o.Quick,
		Resolved: o.Resolved, Machine: o.Machine, Inputs: []Input{}}
	files = map[string][]byte{p.Text: src.Data}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		hash := Digest(inputs[name])
		files[hash] = inputs[name]
		p.Inputs = append(p.Inputs, Input{name, hash, len(inputs[name])})
	}
	manifest, _ = json.Marshal(p) // of strings and numbers, into memory
	return manifest, files
}

// Unpack reads a parcel, and loads its experiment. fetch gives a file by its digest: what it gives is checked. Files
// that the parcel does not have are refused, whether this machine has them or not.
func Unpack(r *spec.Registry, manifest []byte, fetch func(digest string) ([]byte, error)) (*spec.Spec, error) {
	var p Parcel
	d := json.NewDecoder(bytes.NewReader(manifest))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("it is no parcel of an experiment: %w", err)
	}
	if p.Format != ParcelFormat {
		return nil, fmt.Errorf("its format is %d, and this version reads %d", p.Format, ParcelFormat)
	}
	get := func(digest string) ([]byte, error) {
		data, err := fetch(digest)
		if err == nil && Digest(data) != digest {
			err = fmt.Errorf("its content has the hash %s, not %s", Digest(data), digest)
		}
		return data, err
	}
	text, err := get(p.Text)
	if err != nil {
		return nil, fmt.Errorf("the experiment %s: %w", p.Name, err)
	}
	at := map[string]string{}
	for _, in := range p.Inputs {
		at[in.Name] = in.Hash
	}
	src := &spec.Source{Name: p.Name, File: p.Name + ".yaml", Data: text, Open: func(name string) ([]byte, error) {
		hash, ok := at[name]
		if !ok {
			return nil, fmt.Errorf("the parcel of the experiment does not have the file %q", name)
		}
		return get(hash)
	}}
	return plan.Load(r, src, spec.Options{Set: p.Set, Seed: p.Seed, Quick: p.Quick, Resolved: p.Resolved,
		Machine: p.Machine})
}
