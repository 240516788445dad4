//go:build slow

package cli

import "testing"

// TestFullDiskEveryPage runs TestFullDiskOfEveryKind for each number of free pages, and so for each kind of file.
func TestFullDiskEveryPage(t *testing.T) {
	kinds := fillDisk(t, func(all int) (pages []int) {
		for n := range all {
			pages = append(pages, n)
		}
		return pages
	})
	for _, kind := range []string{".yaml", ".json", ".parquet", ".pcapng", ".txt", ".sha256", ".svg", ".html"} {
		if !kinds[kind] {
			t.Errorf("there was always room for %s: %v", kind, kinds)
		}
	}
}
