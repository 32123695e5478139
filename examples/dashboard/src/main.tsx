import { ApolloProvider } from "@apollo/client/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router";
import { apollo } from "./api/client";
import { App } from "./app";
import { NoticeBoard } from "./ui/notices";
import "./ui/style.css";

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <ApolloProvider client={apollo}>
      <BrowserRouter>
        <NoticeBoard>
          <App />
        </NoticeBoard>
      </BrowserRouter>
    </ApolloProvider>
  </StrictMode>,
);
