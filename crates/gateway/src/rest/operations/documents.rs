//! Operations of documents.

use skep_protocol::command::{Need, On};
use skep_protocol::grants;

use super::path::Text;
use super::rows::operations;
use crate::rest::documents;

operations! { "Documents":
    POST "/v2/documents" () createDocument {
        does: Document(Create),
        needs: Need::AnyOf(grants![Document: Create], On::Any),
    }
    POST "/v2/documents/batch" () createDocuments {
        does: Document(CreateAll),
        needs: Need::AnyOf(grants![Document: Create], On::Any),
    }
    GET "/v2/documents/{documentId}" (documentId: Text) getDocument {
        does: Document(Get),
        needs: Need::AnyOf(grants![Document: Read], On::Any),
    }
    DELETE "/v2/documents/{documentId}" (documentId: Text) deleteDocument {
        does: Document(Delete),
        needs: Need::AnyOf(grants![Document: Delete], On::Any),
    }
    POST "/v2/documents/{documentId}/links" (documentId: Text) createDocumentLink {
        does: Document(Link),
        needs: Need::AnyOf(grants![Document: Create], On::Any),
    }
}
