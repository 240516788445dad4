package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The library takes memory for what lengths in a file say before it reads what they announce: these are held
// against the file first.

// largestPage is the most that a page has when it is unpacked, and largestHeader what its header has: pages of
// programs that write Parquet are a hundredth of it.
const (
	largestPage   = 64 << 20
	largestHeader = 1 << 16
)

// footerFits checks that a Parquet file has the footer whose length is at its end.
func footerFits(r io.ReaderAt, size int64) error {
	const least = 12 // a magic number at both ends, and a length
	var end [8]byte
	if size < least {
		return fmt.Errorf("offset %d: the file ends within its head", size)
	}
	if _, err := r.ReadAt(end[:], size-int64(len(end))); err != nil && err != io.EOF {
		return fmt.Errorf("offset %d: %w", size-int64(len(end)), err)
	}
	if n := int64(binary.LittleEndian.Uint32(end[:])); n > size-least {
		return fmt.Errorf("offset %d: the footer has %d bytes, and the file %d", size-int64(len(end)), n, size)
	}
	return nil
}

// pagesFit checks that all pages of a file lie in it, and are no larger unpacked than what a reader can be
// asked to take.
func pagesFit(r io.ReaderAt, size int64, file *format.FileMetaData) error {
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
			if err := columnFits(r, from, from+m.TotalCompressedSize); err != nil {
				return err
			}
		}
	}
	return nil
}

// columnFits goes from page to page of a column that lies between two offsets.
func columnFits(r io.ReaderAt, from, end int64) error {
	head := make([]byte, min(largestHeader, end-from))
	for from < end {
		head = head[:min(int64(cap(head)), end-from)]
		if _, err := r.ReadAt(head, from); err != nil && err != io.EOF {
			return fmt.Errorf("offset %d: %w", from, err)
		}
		var page format.PageHeader
		left, compact := bytes.NewReader(head), thrift.CompactProtocol{}
		err := thrift.NewDecoder(compact.NewReaderFromBytes(head)).Decode(&page) // holds lengths against what is there
		if err == nil {
			page = format.PageHeader{}
			err = thrift.NewDecoder(compact.NewReader(left)).Decode(&page) // says where the header ends
		}
		if err != nil {
			return fmt.Errorf("offset %d: the head of a page: %w", from, err)
		}
		packed, unpacked := int64(page.CompressedPageSize), int64(page.UncompressedPageSize)
		data := from + int64(len(head)-left.Len())
		if packed < 0 || packed > end-data || unpacked < 0 || unpacked > largestPage {
			return fmt.Errorf("offset %d: a page has %d bytes, %d unpacked; its column has %d more, and %d unpacked are allowed",
				from, packed, unpacked, end-data, largestPage)
		}
		from = data + packed
	}
	return nil
}
