package main

import (
	"fmt"
	"go/build/constraint"
	"os"
	"path/filepath"
	"strings"
)

// racelessReason starts the comment that gives the reason for which a file is left out of the race stage. It is the
// first line after the file's build constraint.
const racelessReason = "// Left out of race: "

// checkRaceless returns an error that names the files with a build constraint `!race` without a reason.
func checkRaceless(root string, files []string) error {
	var wrong []string
	for _, name := range goFiles(files) {
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if !givesRaceReason(string(src)) {
			wrong = append(wrong, name)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("files with !race need the reason after the build constraint, as a line %q:\n%s",
			racelessReason+"…", strings.Join(wrong, "\n"))
	}
	return nil
}

// givesRaceReason reports whether a file is part of the race stage, or gives the reason why not.
func givesRaceReason(src string) bool {
	for src != "" {
		line, rest, _ := strings.Cut(src, "\n")
		if strings.HasPrefix(line, "package ") {
			break
		}
		if expr, err := constraint.Parse(line); err == nil && excludesRace(expr) {
			comment, _, _ := strings.Cut(strings.TrimLeft(rest, "\n"), "\n")
			reason, ok := strings.CutPrefix(comment, racelessReason)
			return ok && strings.TrimSpace(reason) != ""
		}
		src = rest
	}
	return true
}

// excludesRace reports whether a build constraint has the term !race.
func excludesRace(x constraint.Expr) bool {
	switch x := x.(type) {
	case *constraint.NotExpr:
		tag, ok := x.X.(*constraint.TagExpr)
		return ok && tag.Tag == "race"
	case *constraint.AndExpr:
		return excludesRace(x.X) || excludesRace(x.Y)
	case *constraint.OrExpr:
		return excludesRace(x.X) || excludesRace(x.Y)
	}
	return false
}
