//! The objects of leases, and whether their store is safe to use for them.

use std::time::Duration;

use futures_util::future::join_all;
use skep_cluster::lease::{Answer, Record, Tag};
use skep_objects::{Condition, Location, NotWritten, ObjectError, Objects};

/// Writers that race for one object; one of them must win.
const RACERS: usize = 8;

/// The reason why a bucket cannot be used for numbers.
#[derive(Debug, thiserror::Error)]
pub enum NotTrusted {
    #[error(
        "{store} let {winners} of {RACERS} writers create one object, although each required that it did not exist: it ignores \
         conditions (If-None-Match), or does not check them together with the write. Two processes would get one number: use another \
         store"
    )]
    Race { store: String, winners: usize },
    #[error(
        "{store} has overwritten an object although the request required other content: it ignores conditions (If-Match). Two processes \
         would get one number: use another store"
    )]
    Overwritten { store: String },
    #[error("{0}")]
    Unavailable(String),
}

pub struct Bucket {
    objects: Objects,
    limit: Duration,
    /// The last failed request, and the reason.
    pub trouble: Option<String>,
}

fn name(node: u32) -> String {
    format!("node-ids/{node}.json")
}

impl Bucket {
    /// # Errors
    /// The settings of the bucket are invalid.
    pub fn open(location: &Location, limit: Duration) -> Result<Bucket, ObjectError> {
        Ok(Bucket {
            objects: Objects::open(location)?,
            limit,
            trouble: None,
        })
    }

    pub fn shown(&self) -> &str {
        self.objects.shown()
    }

    fn too_slow(&self) -> String {
        format!("no answer within {} ms", self.limit.as_millis())
    }

    pub async fn read(&mut self, node: u32) -> Answer {
        let name = name(node);
        let found = tokio::time::timeout(self.limit, self.objects.get_with_tag(&name)).await;
        let trouble = match found {
            Ok(Ok(None)) => return self.went_well(Answer::Read(None)),
            Ok(Ok(Some((content, tag)))) => match Record::decode(&content) {
                Ok(record) => return self.went_well(Answer::Read(Some((Tag(tag), record)))),
                Err(error) => format!("the object {name} in {}: {error}", self.shown()),
            },
            Ok(Err(error)) => error.to_string(),
            Err(_) => self.too_slow(),
        };
        self.trouble = Some(trouble);
        Answer::Unknown
    }

    pub async fn write(&mut self, node: u32, over: Option<Tag>, record: &Record) -> Answer {
        let condition = over.map_or(Condition::Absent, |Tag(tag)| Condition::Tag(tag));
        let (name, content) = (name(node), record.encode().into());
        let write = self.objects.put_if(&name, content, &condition);
        let trouble = match tokio::time::timeout(self.limit, write).await {
            Ok(Ok(tag)) => return self.went_well(Answer::Written(Tag(tag))),
            Ok(Err(NotWritten::Refused)) => return self.went_well(Answer::Refused),
            Ok(Err(NotWritten::Unknown(error))) => error.to_string(),
            Err(_) => self.too_slow(),
        };
        self.trouble = Some(trouble);
        Answer::Unknown
    }

    fn went_well(&mut self, answer: Answer) -> Answer {
        self.trouble = None;
        answer
    }

    /// Checks that the store supports conditional writes: several writers create one object at once, and one overwrites an outdated
    /// version.
    ///
    /// # Errors
    /// It does not support them, or cannot be reached.
    pub async fn probe(&self) -> Result<(), NotTrusted> {
        let name = format!("node-ids/probe-{}", uuid::Uuid::new_v4());
        let probed = self.race(&name).await;
        // The object does no harm if it stays.
        let _ = tokio::time::timeout(self.limit, self.objects.delete(&name)).await;
        probed
    }

    async fn race(&self, name: &str) -> Result<(), NotTrusted> {
        let writes = (0..RACERS).map(|racer| async move {
            let content = format!("{racer}").into();
            let absent = Condition::Absent;
            let write = self.objects.put_if(name, content, &absent);
            tokio::time::timeout(self.limit, write).await
        });
        let mut winners = 0;
        let mut trouble = None;
        for ended in join_all(writes).await {
            match ended {
                Ok(Ok(_)) => winners += 1,
                Ok(Err(NotWritten::Refused)) => {}
                Ok(Err(NotWritten::Unknown(error))) => trouble = Some(error.to_string()),
                Err(_) => trouble = Some(self.too_slow()),
            }
        }
        let store = self.shown().to_string();
        if winners > 1 {
            return Err(NotTrusted::Race { store, winners });
        }
        if let Some(trouble) = trouble {
            return Err(NotTrusted::Unavailable(trouble));
        }
        if winners == 0 {
            return Err(NotTrusted::Unavailable(format!(
                "{store} let none of {RACERS} writers create an object that did not exist"
            )));
        }
        let stale = Condition::Tag("\"00000000000000000000000000000000\"".to_string());
        let write = self.objects.put_if(name, "stale".into(), &stale);
        match tokio::time::timeout(self.limit, write).await {
            Ok(Ok(_)) => Err(NotTrusted::Overwritten { store }),
            Ok(Err(NotWritten::Refused)) => Ok(()),
            Ok(Err(NotWritten::Unknown(error))) => Err(NotTrusted::Unavailable(error.to_string())),
            Err(_) => Err(NotTrusted::Unavailable(self.too_slow())),
        }
    }
}

#[cfg(test)]
mod tests {
    use skep_objects::S3;
    use skep_testbed::S3Server;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn bucket(endpoint: String) -> Bucket {
        let bucket = S3 {
            bucket: "numbers".to_string(),
            endpoint: Some(endpoint),
            region: Some(S3Server::REGION.to_string()),
            access_key: Some(S3Server::ACCESS_KEY.to_string()),
            secret_key: Some(S3Server::SECRET_KEY.to_string()),
        };
        let location = Location::S3 {
            bucket,
            prefix: String::new(),
            limit: Duration::ZERO,
        };
        Bucket::open(&location, Duration::from_secs(5)).unwrap()
    }

    /// A store that accepts every write, or, with `heeds`, only the first conditional creation and all other writes.
    async fn careless(heeds_absence: bool) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let won = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let won = won.clone();
                tokio::spawn(async move {
                    let mut read = Vec::new();
                    let mut more = [0; 4096];
                    while let Ok(count @ 1..) = stream.read(&mut more).await {
                        read.extend_from_slice(&more[..count]);
                        let text = String::from_utf8_lossy(&read).to_ascii_lowercase();
                        let Some((head, body)) = text.split_once("\r\n\r\n") else {
                            continue;
                        };
                        let length = head.split("content-length: ").nth(1);
                        let length = length.and_then(|it| it.lines().next()?.parse().ok());
                        if body.len() < length.unwrap_or(0) {
                            continue;
                        }
                        let loses = heeds_absence
                            && head.contains("if-none-match")
                            && won.swap(true, std::sync::atomic::Ordering::Relaxed);
                        let status = if loses { "412 No" } else { "200 OK" };
                        let answer = format!(
                            "HTTP/1.1 {status}\r\netag: \"1\"\r\ncontent-length: 0\r\n\r\n"
                        );
                        let _ = stream.write_all(answer.as_bytes()).await;
                        read.clear();
                    }
                });
            }
        });
        format!("http://{address}")
    }

    #[tokio::test]
    async fn a_store_that_ignores_conditions_is_refused() {
        let refused = bucket(careless(false).await).probe().await;
        assert!(
            matches!(
                &refused,
                Err(NotTrusted::Race {
                    winners: RACERS,
                    ..
                })
            ),
            "{refused:?}"
        );
        let refused = bucket(careless(true).await).probe().await;
        assert!(
            matches!(refused, Err(NotTrusted::Overwritten { .. })),
            "{refused:?}"
        );
    }

    #[tokio::test]
    async fn a_store_that_heeds_them_is_trusted_and_one_that_is_away_is_not_refused() {
        for mut server in S3Server::start_each() {
            server.make_bucket("numbers").unwrap();
            let mut bucket = bucket(server.endpoint());
            bucket.probe().await.unwrap();
            assert_eq!(bucket.read(1).await, Answer::Read(None));
            server.kill();
            assert_eq!(bucket.read(1).await, Answer::Unknown);
            assert!(bucket.trouble.is_some());
            let away = bucket.probe().await;
            assert!(matches!(away, Err(NotTrusted::Unavailable(_))), "{away:?}");
        }
    }
}
