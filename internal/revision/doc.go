// Package revision says which program this is, so that two machines can tell whether theirs give the same bytes.
package revision
