package document

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// The YAML library takes time and memory with the square of the nesting depth, of the number of keys in a map, and of
// the number of missing values. The reader therefore checks the tokens before it parses them.
const (
	maxDepth = 50   // levels
	maxKeys  = 4096 // keys in one map
)

// checkTokens checks that the YAML library can parse a file's tokens in time proportional to their number. If not, it
// notes an error at the first token above a limit. It reports whether the reader has no errors.
func (r *Reader) checkTokens(file string, tokens token.Tokens) bool {
	if tk := findTooDeep(tokens); tk != nil {
		r.Fail(positionOf(file, tk), fmt.Sprintf("%d levels", maxDepth), "the file is nested too deeply")
	} else if tk := findTooManyKeys(tokens); tk != nil {
		r.Fail(positionOf(file, tk), fmt.Sprintf("up to %d", maxKeys), "the map has more than %d keys", maxKeys)
	} else if tk := findTooManyMissing(tokens); tk != nil {
		r.Fail(positionOf(file, tk), "a value after the key, or no key",
			"a value is missing; %d others before it are missing too", maxErrors)
	}
	return r.OK()
}

// findTooDeep returns the first token that is nested deeper than maxDepth in brackets, braces and hyphens of one
// line, or nil. Indentation needs no limit here: the file's size limits it.
func findTooDeep(tokens token.Tokens) *token.Token {
	open, hyphens, line := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position != nil && tk.Position.Line != line {
			hyphens, line = 0, tk.Position.Line
		}
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		case token.SequenceEntryType:
			hyphens++
		}
		if open+hyphens > maxDepth {
			return tk
		}
	}
	return nil
}

// findTooManyKeys returns the key that exceeds maxKeys in a map with one key per line, or nil. Maps in braces do not
// need the limit: the library parses them in linear time.
func findTooManyKeys(tokens token.Tokens) *token.Token {
	type column struct{ at, keys int }
	var maps []column // open maps, by the column of their keys
	open, line := 0, 0
	for i, tk := range tokens {
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		}
		if tk.Position == nil || open > 0 {
			continue
		}
		if tk.Position.Line != line {
			line = tk.Position.Line
			for len(maps) > 0 && maps[len(maps)-1].at > tk.Position.Column {
				maps = maps[:len(maps)-1]
			}
		}
		if tk.Type != token.MappingValueType || i == 0 || tokens[i-1].Position == nil {
			continue
		}
		key := tokens[i-1]
		if len(maps) == 0 || maps[len(maps)-1].at < key.Position.Column {
			maps = append(maps, column{at: key.Position.Column})
		}
		last := &maps[len(maps)-1]
		if last.keys++; last.keys > maxKeys {
			return key
		}
	}
	return nil
}

// findTooManyMissing returns the token after which more than maxErrors values are missing, or nil. A value is missing
// after a hyphen, or after a colon or a key in braces.
func findTooManyMissing(tokens token.Tokens) *token.Token {
	var flows []flowEntry
	missing, key := 0, (*token.Token)(nil)
	for i, tk := range tokens {
		if tk.Position == nil || tk.Type == token.CommentType {
			continue
		}
		next := firstCode(tokens[i+1:])
		empty := false
		switch in := len(flows) - 1; {
		case tk.Type == token.SequenceStartType || tk.Type == token.MappingStartType:
			flows = append(flows, flowEntry{braces: tk.Type == token.MappingStartType})
		case in >= 0 && (tk.Type == token.SequenceEndType || tk.Type == token.MappingEndType):
			empty = flows[in].isValueMissing()
			flows = flows[:in]
		case in >= 0 && tk.Type == token.CollectEntryType:
			empty = flows[in].isValueMissing()
			flows[in] = flowEntry{braces: flows[in].braces}
		case in >= 0 && tk.Type == token.MappingValueType:
			flows[in].colon = true
			empty = next != nil && (next.Type == token.CollectEntryType || next.Type == token.MappingEndType)
		case in >= 0:
			flows[in].word = true
		case tk.Type == token.SequenceEntryType:
			empty = next == nil || next.Position.Line != tk.Position.Line && next.Position.Column <= tk.Position.Column
		case tk.Type == token.MappingValueType && key != nil:
			empty = next == nil || next.Position.Line != tk.Position.Line && (next.Position.Column < key.Position.Column ||
				next.Position.Column == key.Position.Column && next.Type != token.SequenceEntryType)
		}
		if empty {
			if missing++; missing > maxErrors {
				return tk
			}
		}
		key = tk
	}
	return nil
}

// flowEntry describes the current entry of a map in braces or of a list in brackets.
type flowEntry struct{ braces, word, colon bool }

// isValueMissing reports whether the entry is a key without a value.
func (f flowEntry) isValueMissing() bool { return f.braces && f.word && !f.colon }

// firstCode returns the first token that is not a comment, or nil at the end.
func firstCode(tokens token.Tokens) *token.Token {
	for _, tk := range tokens {
		if tk.Position != nil && tk.Type != token.CommentType {
			return tk
		}
	}
	return nil
}
