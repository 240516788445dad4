package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

// listComponents returns the components of a program in CycloneDX format as JSON: the module, all modules compiled into
// it according to the program itself, and the standard library. The argument binary is the program's file. It downloads
// missing modules for their licences.
func (s *source) listComponents(platform, binary string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	bom := cdx.NewBOM()
	sum := sha256.Sum256(program)
	main := cdx.Component{BOMRef: packageURL(info.Main.Path, s.version), Type: cdx.ComponentTypeApplication, Name: "weir",
		Version: s.version, PackageURL: packageURL(info.Main.Path, s.version),
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		Properties: &[]cdx.Property{{Name: "platform", Value: platform}, {Name: "commit", Value: s.commit}}}
	bom.Metadata = &cdx.Metadata{Timestamp: s.time.Format(time.RFC3339), Component: &main}
	var all []cdx.Component
	var refs []string
	made := listModules(info)
	folders, err := foldersOf(s.dir, made)
	if err != nil {
		return nil, err
	}
	for i, m := range made {
		c := cdx.Component{BOMRef: packageURL(m.Path, m.Version), Type: cdx.ComponentTypeLibrary, Name: m.Path,
			Version: m.Version, PackageURL: packageURL(m.Path, m.Version), Scope: cdx.ScopeRequired}
		if m.Sum != "" {
			h1, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
			if err != nil {
				return nil, fmt.Errorf("%s: its sum %q: %w", m.Path, m.Sum, err)
			}
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(h1)}}
		}
		ids, err := findLicences(folders[i])
		if err != nil {
			return nil, err
		}
		if len(ids) > 0 {
			c.Licenses = &cdx.Licenses{}
			for _, id := range ids {
				*c.Licenses = append(*c.Licenses, cdx.LicenseChoice{License: &cdx.License{ID: id}})
			}
		}
		all, refs = append(all, c), append(refs, c.BOMRef)
	}
	bom.Components, bom.Dependencies = &all, &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var b bytes.Buffer
	err = cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return b.Bytes(), err
}

// packageURL returns the package URL of a module.
func packageURL(path, version string) string { return "pkg:golang/" + path + "@" + version }

// listModules returns the modules of a program without its own and with the standard library (std), sorted by path.
// Replaced modules are named by their replacement.
func listModules(info *debug.BuildInfo) []debug.Module {
	all := []debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		for m.Replace != nil {
			m = m.Replace
		}
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b debug.Module) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// legal matches the names of files that must accompany a module.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|copyright)([.-].*)?$`)

// collectLicences returns the licences of all modules of the program in the file binary. They must accompany the
// program. A module without a licence file is an error. The folder dir has the main module. It downloads missing
// modules.
func collectLicences(dir, binary string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	all := listModules(info)
	folders, err := foldersOf(dir, all)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("Weir contains the following modules, each under the licence below it.\n")
	for i, m := range all {
		folder := folders[i]
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		found := false
		for _, e := range entries {
			if !e.Type().IsRegular() || !legal.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				return nil, err
			}
			found = true
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 80), m.Path, m.Version, e.Name(),
				bytes.TrimSpace(text))
		}
		if !found {
			return nil, fmt.Errorf("module %s %s has no licence file in %s", m.Path, m.Version, folder)
		}
	}
	return b.Bytes(), nil
}

// findLicences returns the SPDX identifiers of a module's licences, sorted, from the texts in its files. It skips
// files that consist mostly of other text or only link to a licence; the notices include these.
func findLicences(folder string) (ids []string, err error) {
	const known = 75 // percent of a file's words in known texts, as for pkg.go.dev
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !legal.MatchString(e.Name()) || !granting.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		found := licensecheck.Scan(text)
		if found.Percent < known {
			continue
		}
		for _, m := range found.Match {
			if !m.IsURL && !slices.Contains(ids, m.ID) {
				ids = append(ids, m.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// granting matches the names of legal files with the text of a licence.
var granting = regexp.MustCompile(`(?i)^(licen[cs]e|copying)`)

// foldersOf returns the folders of the modules' files on this machine, in the order of all. It downloads missing
// modules.
func foldersOf(dir string, all []debug.Module) (folders []string, err error) {
	args := []string{"mod", "download", "-json"}
	for _, m := range all {
		if m.Path != "std" {
			args = append(args, m.Path+"@"+m.Version)
		}
	}
	at := map[string]string{}
	if len(args) > 3 {
		out, err := runGo(dir, args...)
		if err != nil {
			return nil, err
		}
		for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
			var m struct{ Path, Dir string }
			if err := d.Decode(&m); err != nil {
				return nil, err
			}
			at[m.Path] = m.Dir
		}
	}
	root, err := runGo(dir, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	at["std"] = strings.TrimSpace(string(root))
	for _, m := range all {
		if at[m.Path] == "" {
			return nil, fmt.Errorf("the files of module %s %s are not available", m.Path, m.Version)
		}
		folders = append(folders, at[m.Path])
	}
	return folders, nil
}

// runGo runs the go command in a folder and returns its output.
func runGo(dir string, args ...string) ([]byte, error) {
	c := exec.Command("go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	var failure bytes.Buffer
	c.Stderr = &failure
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(failure.String()))
	}
	return out, nil
}
