//! Writes the files of a document store to a backup, and refers to those that an earlier one has.

use std::io;
use std::ops::RangeInclusive;

use skep_backup::{
    DocumentsManifest, Listed, Listing, Row, Store, StoredObject, Unreadable, Upload, encode_piece,
    read_object,
};

use super::earlier::Earlier;
use super::{
    DEPTH, Found, Limits, LocalDocuments, MAX_UNREADABLE, NotWritten, read_file, walk,
    warn_of_too_many,
};

/// Packs files into objects.
pub(super) struct Packing<'a> {
    local: &'a LocalDocuments,
    backup: u64,
    store: &'a Store,
    limits: Limits,
    upload: Upload,
    content: Vec<u8>,
    /// Bytes of the content of each object that was written.
    content_bytes: Vec<u64>,
    unreadable: Vec<Unreadable>,
    earlier: Earlier,
    /// Which of the earlier objects are referred to.
    used: Vec<bool>,
    /// Where files are: in the earlier objects, which come first, and in those that are written. `None`: they are too many to be listed.
    rows: Option<Vec<Row>>,
    keeps_on: &'a mut dyn FnMut() -> Result<(), NotWritten>,
}

impl<'a> Packing<'a> {
    /// `earlier`: `None` if there are too many files.
    pub(super) fn new(
        local: &'a LocalDocuments,
        (store, backup): (&'a Store, u64),
        limits: Limits,
        earlier: Option<Earlier>,
        keeps_on: &'a mut dyn FnMut() -> Result<(), NotWritten>,
    ) -> Packing<'a> {
        let rows = earlier.is_some().then(Vec::new);
        let earlier = earlier.unwrap_or_default();
        Packing {
            local,
            backup,
            store,
            limits,
            upload: Upload::of_documents(store, backup, &local.store, limits.rate),
            content: Vec::new(),
            content_bytes: Vec::new(),
            unreadable: Vec::new(),
            used: vec![false; earlier.kept.len()],
            earlier,
            rows,
            keeps_on,
        }
    }

    pub(super) fn run(mut self) -> Result<DocumentsManifest, NotWritten> {
        let local = self.local;
        self.find_damage()?;
        walk(&local.directory, "", DEPTH, &mut |path, found| {
            self.add(path, found)
        })?;
        self.write(1)?;
        self.finish()
    }

    /// Reads some of the objects that an earlier backup has. Of the others only names and sizes are compared, so all later backups share their
    /// damage.
    fn find_damage(&mut self) -> Result<(), NotWritten> {
        for (number, kept) in self.earlier.kept.iter_mut().enumerate() {
            let turn = self.backup.wrapping_add(number as u64);
            if !turn.is_multiple_of(self.limits.read_again) {
                continue;
            }
            self.upload.wait::<NotWritten>(self.keeps_on)?;
            self.upload.takes(kept.object.bytes);
            match read_object(self.store, &kept.object) {
                Err(error) if error.is_loss() => {
                    tracing::warn!(
                        %error,
                        "documents that earlier backups share are damaged: they are written again, and the earlier backups lack them"
                    );
                    kept.is_damaged = true;
                }
                read => drop(read?),
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &str, found: io::Result<Found>) -> Result<(), NotWritten> {
        // Thousands of small files fit into an object, and reading them from a network takes minutes.
        (self.keeps_on)()?;
        let read = match found {
            Ok(found) if self.refers(path, found)? => Ok(()),
            Ok(found) => self.read(path, found),
            Err(source) => Err(NotWritten::unreadable(&self.local.directory.join(path))(
                source,
            )),
        };
        match read {
            // The state and the other documents are worth a backup.
            Err(NotWritten::Unreadable { source, .. }) => self.leave_out(path, &source),
            read => read,
        }
    }

    /// Refers to what an earlier backup has of the file, if it has it.
    fn refers(&mut self, path: &str, found: Found) -> Result<bool, NotWritten> {
        let Some(objects) = self.earlier.find(path, found) else {
            return Ok(false);
        };
        for object in objects.clone() {
            if let Some(used) = self.used.get_mut(object as usize) {
                *used = true;
            }
        }
        self.list(Row::new(path, found.stamp, found.bytes, objects))?;
        Ok(true)
    }

    fn list(&mut self, row: Row) -> Result<(), NotWritten> {
        let Some(rows) = &mut self.rows else {
            return Ok(());
        };
        if rows.len() < self.limits.listed {
            rows.push(row);
            return Ok(());
        }
        // Without a listing, all files of the objects are in the backup. Those of earlier objects may have been deleted since.
        if self.used.contains(&true) {
            return Err(NotWritten::TooManyToList);
        }
        warn_of_too_many(&self.local.store);
        (self.rows, self.earlier) = (None, Earlier::default());
        Ok(())
    }

    fn read(&mut self, path: &str, found: Found) -> Result<(), NotWritten> {
        let local = self.local;
        let (mut objects, mut read) = (None::<RangeInclusive<u32>>, 0);
        read_file(
            &local.directory,
            path,
            self.limits.read,
            &mut |place, bytes| {
                encode_piece(path, place, bytes, &mut self.content);
                let object = self.earlier.kept.len() + self.upload.written();
                let object = u32::try_from(object).unwrap_or(u32::MAX);
                let first = objects.as_ref().map_or(object, |before| *before.start());
                objects = Some(first..=object);
                read += bytes.len() as u64;
                self.write(self.limits.piece)
            },
        )?;
        match objects {
            Some(objects) => self.list(Row::new(path, found.stamp, read, objects)),
            // It was deleted since the directory was read.
            None => Ok(()),
        }
    }

    fn leave_out(&mut self, path: &str, why: &io::Error) -> Result<(), NotWritten> {
        if self.unreadable.len() == MAX_UNREADABLE {
            return Err(NotWritten::GivenUp(format!(
                "more than {MAX_UNREADABLE} documents cannot be read, as {path}: {why}. The directory of the document store, its mount or \
                 its disk has failed"
            )));
        }
        self.unreadable.push(Unreadable {
            path: path.to_string(),
            reason: why.to_string(),
        });
        Ok(())
    }

    /// Writes an object, if at least so many bytes are packed.
    fn write(&mut self, least: usize) -> Result<(), NotWritten> {
        if self.content.len() < least {
            return Ok(());
        }
        self.upload.wait::<NotWritten>(self.keeps_on)?;
        self.upload.add(&self.content)?;
        self.content_bytes.push(self.content.len() as u64);
        self.content.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<DocumentsManifest, NotWritten> {
        let earlier = self.earlier.kept.len();
        let (mut objects, mut content_bytes, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (kept, used) in std::mem::take(&mut self.earlier.kept)
            .into_iter()
            .zip(&self.used)
        {
            places.push(u32::try_from(objects.len()).unwrap_or(u32::MAX));
            if *used {
                objects.push(kept.object);
                content_bytes.push(kept.content_bytes);
            }
        }
        let unused = u32::try_from(earlier - objects.len()).unwrap_or(u32::MAX);
        let place = |object: u32| match places.get(object as usize) {
            Some(place) => *place,
            None => object - unused,
        };
        let rows = self.rows.take().map(|mut rows| {
            for row in &mut rows {
                (row.first, row.last) = (place(row.first), place(row.last));
            }
            rows
        });
        let listed = rows.map(|rows| self.write_listing(&Listing::of(rows)));
        let listed = listed.transpose()?;
        objects.extend(self.upload.finish());
        content_bytes.extend(self.content_bytes);
        debug_assert_eq!(
            objects.len(),
            content_bytes.len(),
            "each object has its content"
        );
        debug_assert!(
            self.unreadable.len() <= MAX_UNREADABLE,
            "with more of them, the backup fails"
        );
        Ok(DocumentsManifest {
            store: self.local.store.clone(),
            objects: Some(objects),
            listed: listed.map(|objects| Listed {
                objects,
                content_bytes,
            }),
            unreadable: self.unreadable,
        })
    }

    fn write_listing(&mut self, listing: &Listing) -> Result<Vec<StoredObject>, NotWritten> {
        let documents = &self.local.store;
        let mut upload = Upload::of_listing(self.store, self.backup, documents, self.limits.rate);
        for content in listing.contents() {
            upload.wait::<NotWritten>(self.keeps_on)?;
            upload.add(&content)?;
        }
        Ok(upload.finish())
    }
}
