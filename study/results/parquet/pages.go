package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The library allocates memory by the lengths in a file before it reads the data. These functions first check the
// lengths against the file's size.

// maxPageBytes limits the uncompressed size of a page, and maxHeaderBytes the size of its header. Pages written by
// common programs are a hundred times smaller.
const (
	maxPageBytes   = 64 << 20
	maxHeaderBytes = 1 << 16
)

// checkFooter checks that a Parquet file is large enough for the footer length at its end.
func checkFooter(r io.ReaderAt, size int64) error {
	const minSize = 12 // magic numbers at both ends, and a length
	var end [8]byte
	if size < minSize {
		return fmt.Errorf("offset %d: the file ends within its head", size)
	}
	if _, err := r.ReadAt(end[:], size-int64(len(end))); err != nil && err != io.EOF {
		return fmt.Errorf("offset %d: %w", size-int64(len(end)), err)
	}
	if n := int64(binary.LittleEndian.Uint32(end[:])); n > size-minSize {
		return fmt.Errorf("offset %d: the footer has %d bytes, and the file %d", size-int64(len(end)), n, size)
	}
	return nil
}

// checkPages checks that all pages are within the file and within maxPageBytes when uncompressed. size is the file's,
// in bytes.
func checkPages(r io.ReaderAt, size int64, file *format.FileMetaData) error {
	for g := range file.RowGroups {
		for c := range file.RowGroups[g].Columns {
			m := &file.RowGroups[g].Columns[c].MetaData
			from := m.DataPageOffset
			if d := m.DictionaryPageOffset; d > 0 && d < from {
				from = d
			}
			if from < 0 || m.TotalCompressedSize < 0 || m.TotalCompressedSize > size || from > size-m.TotalCompressedSize {
				return fmt.Errorf("offset %d: a column has %d bytes from %d on, and the file %d", size, m.TotalCompressedSize,
					from, size)
			}
			if err := checkColumn(r, from, from+m.TotalCompressedSize); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkColumn checks the pages of a column between two offsets.
func checkColumn(r io.ReaderAt, start, end int64) error {
	head := make([]byte, min(maxHeaderBytes, end-start))
	for start < end {
		head = head[:min(int64(cap(head)), end-start)]
		if _, err := r.ReadAt(head, start); err != nil && err != io.EOF {
			return fmt.Errorf("offset %d: %w", start, err)
		}
		var page format.PageHeader
		left, compact := bytes.NewReader(head), thrift.CompactProtocol{}
		err := thrift.NewDecoder(compact.NewReaderFromBytes(head)).Decode(&page) // checks lengths against the available bytes
		if err == nil {
			page = format.PageHeader{}
			err = thrift.NewDecoder(compact.NewReader(left)).Decode(&page) // finds the end of the header
		}
		if err != nil {
			return fmt.Errorf("offset %d: the head of a page: %w", start, err)
		}
		packed, unpacked := int64(page.CompressedPageSize), int64(page.UncompressedPageSize)
		data := start + int64(len(head)-left.Len())
		if packed < 0 || packed > end-data || unpacked < 0 || unpacked > maxPageBytes {
			return fmt.Errorf("offset %d: a page has %d bytes, %d unpacked; its column has %d more, and %d unpacked are allowed",
				start, packed, unpacked, end-data, maxPageBytes)
		}
		start = data + packed
	}
	return nil
}
